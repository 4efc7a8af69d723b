#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "cli/serve_fixture.hpp"
#include "support/outside_text.hpp"

namespace quorumlock::test {
namespace {

class Serve : public ServeCommand {};

TEST_F(Serve, GivesProgramsWhatTheCommandsGive) {
  // The documents are those of the commands with --json; only owner tokens are cut.
  const std::string token = acquired("orders/1");
  const Server server = serve();
  EXPECT_EQ(server.get("/healthz").status, 200);
  EXPECT_EQ(server.get("/readyz").body, "3 of 3 nodes may vote; a quorum is 2\n");

  const HttpAnswer status = server.get("/api/status");
  EXPECT_EQ(status.headers.at("content-type"), "application/json");
  const json nodes = json::parse(status.body).at("nodes");
  const json shown = json::parse(run({"--json", "status"}).out).at("nodes");
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(nodes[1].at("run_id"), shown[1].at("run_id"));
  EXPECT_EQ(nodes[1].size(), shown[1].size());
  EXPECT_EQ(json::parse(server.get("/api/doctor").body),
            json::parse(run({"--json", "doctor"}).out));

  const json locks = json::parse(server.get("/api/locks?pattern=orders*").body).at("locks");
  ASSERT_EQ(locks.size(), 1);
  EXPECT_EQ(locks[0].at("resource"), "orders/1");
  EXPECT_EQ(locks[0].at("token_begin"), token.substr(0, 8));
  EXPECT_EQ(json::parse(server.get("/api/locks?pattern=other*").body).at("locks"), json::array());

  const HttpAnswer lock = server.get("/api/locks/orders%2F1");
  EXPECT_EQ(lock.status, 200);
  EXPECT_EQ(json::parse(lock.body).at("state"), "held");
  EXPECT_EQ(json::parse(lock.body).at("holder"), token.substr(0, 8) + "..." + token.substr(40));
  EXPECT_THAT(lock.body, Not(HasSubstr(token.substr(0, 40))));
  EXPECT_EQ(server.get("/api/locks/quorumlock:x").status, 400);
  EXPECT_EQ(server.get("/nowhere").status, 404);
}

TEST_F(Serve, GivesMetricsInTheFormThatIsAskedFor) {
  // Only a list of locks reads every page of the keys.
  cluster.raw(0, {"EVAL", "for i = 1, 2000 do redis.call('SET', 'key:' .. i, i) end", "0"});
  const Server server = serve();
  const HttpAnswer plain = server.get("/metrics");
  EXPECT_EQ(plain.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const std::string& url : cluster.shown_urls()) {
    EXPECT_THAT(plain.body, HasSubstr("quorumlock_node_votes{node=\"" + url + "\"} 1"));
  }
  EXPECT_THAT(plain.body, Not(HasSubstr("# EOF")));
  const HttpAnswer open = server.get("/metrics", "Accept: application/openmetrics-text\r\n");
  EXPECT_THAT(open.headers.at("content-type"), HasSubstr("application/openmetrics-text"));
  EXPECT_TRUE(open.body.ends_with("# EOF\n"));
  EXPECT_LT(cluster.calls(0, "scan"), 10);
  EXPECT_EQ(server.get("/api/locks").status, 200);
  EXPECT_GE(cluster.calls(0, "scan"), 20);
}

TEST_F(Serve, HasAPageThatNeedsNothingElse) {
  // The policy lets it load its own script and style only, so it must not have any inline.
  const Server server = serve();
  const HttpAnswer page = server.get("/");
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<script src=\"page.js\""));
  EXPECT_THAT(page.body, Not(HasSubstr("://")));
  EXPECT_THAT(page.body, Not(HasSubstr("style=")));
  const HttpAnswer script = server.get("/page.js");
  EXPECT_EQ(script.headers.at("content-type"), "text/javascript; charset=utf-8");
  EXPECT_THAT(script.body, HasSubstr("new EventSource"));
  EXPECT_THAT(script.body, Not(HasSubstr("innerHTML")));
  EXPECT_EQ(server.get("/page.css").headers.at("content-type"), "text/css; charset=utf-8");
}

TEST_F(Serve, IsReadyWhileAQuorumVotes) {
  const Server server = serve();
  EXPECT_EQ(server.get("/readyz").status, 200);
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 503; }));
  EXPECT_EQ(server.get("/readyz").body, "1 of 3 nodes may vote; a quorum is 2\n");
  EXPECT_EQ(server.get("/healthz").status, 200);
  EXPECT_EQ(json::parse(server.get("/api/status").body).at("error").at("code"), "no_quorum");
  EXPECT_EQ(server.get("/api/locks").status, 503);
  EXPECT_EQ(server.get("/api/locks/orders").status, 503);
  cluster.restart(1);
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 200; }));
}

TEST_F(Serve, IsNotReadyIfTheNodesRefuseEveryWrite) {
  // The probe of a load balancer and the metrics say so, although each node is connected.
  const Server server = serve();
  EXPECT_EQ(server.get("/readyz").status, 200);
  for (const int node : {0, 2}) cluster.raw(node, {"CONFIG", "SET", "maxmemory", "1mb"});
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 503; }));
  EXPECT_EQ(server.get("/readyz").body, "1 of 3 nodes may vote; a quorum is 2\n");
  const std::string metrics = server.get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("quorumlock_nodes_voting 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("quorumlock_node_votes{node=\"" + cluster.shown_urls()[0] + "\"} 0\n"));
  const json status = json::parse(server.get("/api/status").body);
  EXPECT_EQ(status.at("nodes")[2].at("reason"), "refuses_writes");
  for (const int node : {0, 2}) cluster.raw(node, {"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 200; }));
}

TEST_F(Serve, IsNotReadyIfTheNodesGrantItsUserNothing) {
  // The probe of a load balancer and the metrics say the same.
  const Server server = serve();
  EXPECT_EQ(server.get("/readyz").status, 200);
  for (const int node : {0, 2}) cluster.raw(node, {"ACL", "SETUSER", cluster.user(), "-time"});
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 503; }));
  EXPECT_THAT(server.get("/metrics").body, HasSubstr("quorumlock_nodes_voting 1\n"));
  for (const int node : {0, 2}) cluster.raw(node, {"ACL", "SETUSER", cluster.user(), "+time"});
  EXPECT_TRUE(eventually([&] { return server.get("/readyz").status == 200; }));
  EXPECT_THAT(server.get("/metrics").body, HasSubstr("quorumlock_nodes_voting 3\n"));
}

TEST_F(Serve, SendsChangesToItsViewers) {
  // Each change comes by itself: a lock, its waiter, a node that dies.
  const Server server = serve();
  HttpConnection viewer = server.watch("?resource=orders&filter=ord");
  EXPECT_EQ(viewer.event("locks").at("held"), 0);
  const std::string token = acquired("orders");
  acquired("stock");
  const auto sees = [&](const std::string& event, const auto& what) {
    return eventually([&] { return what(viewer.event(event)); });
  };
  EXPECT_TRUE(sees("locks", [&](const json& seen) {
    if (seen.at("held") != 2) return false;
    EXPECT_EQ(seen.at("matching"), 1);
    EXPECT_EQ(seen.at("locks").size(), 1);
    EXPECT_THAT(seen.dump(), Not(HasSubstr(token.substr(0, 40))));
    return true;
  }));
  Program waiter = start({"acquire", "--wait", "forever", "orders"});
  EXPECT_TRUE(sees("lock", [](const json& seen) { return seen.at("waiters").size() == 1; }));
  EXPECT_TRUE(sees("locks", [](const json& seen) { return seen.at("waiting") == 1; }));
  cluster.kill(2);
  EXPECT_TRUE(sees("status", [](const json& seen) {
    return seen.at("verdict") == "2 of 3 nodes may vote; a quorum is 2" &&
           seen.at("status").at("nodes")[2].at("state") == "down" &&
           !seen.at("doctor").at("findings").empty();
  }));
  // One node does not return its list, and the page says so.
  cluster.kill(1);
  EXPECT_TRUE(sees("locks", [](const json& seen) { return seen.contains("error"); }));
}

TEST_F(Serve, OrdersAndDividesTheListForEachViewer) {
  const Server server = serve();
  for (const char* resource : {"a", "b", "c"}) acquired(resource);
  Program waiter = start({"acquire", "--wait", "forever", "c"});
  ASSERT_TRUE(eventually([&] {
    return json::parse(server.get("/api/locks").body).at("locks")[2].at("waiters") == 1;
  }));
  const auto resources = [&](const std::string& query) {
    std::string names;
    const json seen = server.watch(query).event("locks");
    for (const json& lock : seen.at("locks")) {
      names += lock.at("resource").get<std::string>();
    }
    return names;
  };
  EXPECT_EQ(resources("?from=1&count=1"), "b");
  EXPECT_EQ(resources("?order=waiters"), "cab");
  EXPECT_EQ(resources("?order=held_for"), "abc");
  EXPECT_EQ(resources("?order=expires_in"), "abc");
  EXPECT_EQ(resources("?from=7"), "");
  for (const char* query : {"?order=age", "?from=-1", "?count=501", "?count=many"}) {
    EXPECT_EQ(server.get(std::string("/api/events") + query).status, 400) << query;
  }
}

TEST_F(Serve, NamesLeadersWhateverPartOfTheListIsAskedFor) {
  const Server server = serve();
  acquired("orders");
  const Program leader = start({"leader", "billing", "--", "sleep", "60"});
  HttpConnection viewer = server.watch("?filter=orders&count=1");
  json seen;
  ASSERT_TRUE(eventually([&] {
    seen = viewer.event("locks");
    return seen.at("leading") == 1;
  })) << seen;
  EXPECT_EQ(seen.at("matching"), 1);
  EXPECT_EQ(seen.at("leaders").at(0).at("resource"), "billing");
  EXPECT_THAT(seen.at("leaders").at(0).at("label").get<std::string>(),
              HasSubstr(":" + std::to_string(leader.pid()) + ":sleep"));
}

TEST_F(Serve, AsksTheNodesOnceForAllViewers) {
  const Server server = serve();
  const auto asked = [&] { return cluster.calls(0, "info"); };
  (void)server.get("/api/status");
  const long long for_one_look = asked();
  ASSERT_GT(for_one_look, 0);
  std::vector<HttpConnection> viewers;
  for (int i = 0; i < 20; ++i) viewers.push_back(server.watch());
  for (HttpConnection& viewer : viewers) (void)viewer.event("status");
  const long long before = asked();
  long long looks = 0;
  for (; looks < 3; ++looks) (void)viewers[0].event("status");
  // One look may have begun before, and one may be under way.
  EXPECT_LE(asked() - before, (looks + 2) * for_one_look);
}

TEST_F(Serve, HasABoundedNumberOfViewers) {
  // The 33rd viewer is sent away, until another one has gone.
  const Server server = serve();
  std::vector<HttpConnection> viewers;
  for (int i = 0; i < 32; ++i) viewers.push_back(server.watch());
  for (HttpConnection& viewer : viewers) (void)viewer.event("status");
  const HttpAnswer refused = server.get("/api/events");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "2");
  EXPECT_THAT(refused.body, HasSubstr("32 viewers"));
  EXPECT_EQ(server.get("/healthz").status, 200);
  viewers.pop_back();
  EXPECT_TRUE(eventually([&] {
    HttpConnection viewer = server.watch();
    try {
      (void)viewer.event("status");
      return true;
    } catch (const std::runtime_error&) {  // refused
      return false;
    }
  }));
}

TEST_F(Serve, SilentClientsDoNotKeepOthersOut) {
  // There are more of them than places, and each has two seconds for its request. A viewer that has
  // been let in keeps its place.
  const Server server = serve();
  HttpConnection viewer = server.watch();
  (void)viewer.event("status");
  std::vector<HttpConnection> silent;
  for (int i = 0; i < 300; ++i) {
    silent.emplace_back(server.port());
    silent.back().send("GET /api/status HTTP/1.1\r\nHost: ");
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(server.get("/api/status").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
  EXPECT_TRUE(silent[0].ends());
  (void)viewer.event("beat");
}

/// The processor time that the process has used, in seconds.
double processor_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // up to the 14th, utime
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

TEST_F(Serve, RestsWhileItHasNoDescriptors) {
  // More clients than descriptors, until the first of them has had its two seconds.
  Server server = serve();
  EXPECT_EQ(server.get("/healthz").status, 200);
  const pid_t pid = server.program().pid();
  const std::filesystem::directory_iterator open("/proc/" + std::to_string(pid) + "/fd"), end;
  const auto some_more = static_cast<rlim_t>(std::distance(open, end)) + 5;
  const rlimit limit{some_more, some_more};
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
  std::vector<HttpConnection> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(server.port());
  const auto began = std::chrono::steady_clock::now();
  const double before = processor_time(pid);
  EXPECT_TRUE(silent[0].ends());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took.count(), 1);
  EXPECT_LT(processor_time(pid) - before, took.count() / 10);
  silent.clear();
  EXPECT_TRUE(eventually([&] { return server.get("/healthz").status == 200; }));
}

TEST_F(Serve, WhateverItSendsIsPrintable) {
  const std::string name = all_outside_texts();
  const std::string token = std::string(40, 'a') + "@" + name;
  std::string path = "/api/locks/";
  for (const char letter : name) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(letter));
    path += code;
  }
  for (int node = 0; node < 3; ++node) cluster.raw(node, {"SET", name, token});
  const Server server = serve();
  for (const std::string& asked :
       {path, std::string("/api/locks"), std::string("/api/locks?pattern=%9B%C2%9B%0A"),
        std::string("/api/status"), std::string("/api/doctor"), std::string("/metrics")}) {
    const HttpAnswer answer = server.get(asked);
    EXPECT_EQ(answer.status, 200) << asked << ": " << answer.body;
    EXPECT_EQ(unprintable_at(answer.body, "\n"), std::string::npos) << asked << ": " << answer.body;
  }
}

TEST_F(Serve, EndsWithStreamsOpen) {
  Server server = serve();
  HttpConnection viewer = server.watch("?resource=orders");
  (void)viewer.event("status");
  HttpConnection silent(server.port());
  server.program().signal(SIGTERM);
  const Ended ended = server.program().finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_TRUE(viewer.ends());
}

TEST_F(Serve, EndsWhileItsConfigurationFileBlocks) {
  // The file becomes a pipe that nobody writes to, as a file on a server that is away.
  const std::string file = (directory.path() / "c.json").string(), pipe = file + ".pipe";
  std::ofstream(file) << json{{"nodes", cluster.urls()}};
  Server server(Program(
      {QUORUMLOCK_PROGRAM, "--config", file, "--json", "serve", "--listen", "127.0.0.1:0"}));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::rename(pipe, file);
  server.program().signal(SIGHUP);
  const int writing = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);  // returns once it is being read
  EXPECT_EQ(server.get("/healthz").status, 200);
  server.program().signal(SIGTERM);
  EXPECT_EQ(server.program().finish().code, 0);
  ::close(writing);
}

TEST_F(Serve, EndsWhileANodeDoesNotAnswer) {
  cluster.pause(0);
  cluster.pause(1);
  Server server = serve();
  HttpConnection waiting(server.port());
  waiting.ask("GET", "/readyz");
  server.program().signal(SIGTERM);
  EXPECT_EQ(server.program().finish().code, 0);
}

}  // namespace
}  // namespace quorumlock::test
