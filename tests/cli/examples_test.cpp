#include <quorumlock/quorumlock.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/fixture.hpp"
#include "cli/http_client.hpp"

// The programs of examples/, several at a time, as their users will run them.
namespace quorumlock::test {
namespace {

class Examples : public CommandLine {
 protected:
  Examples() { std::filesystem::create_directory(directory); }
  ~Examples() override { std::filesystem::remove_all(directory); }

  /// Runs `count` of one example at once; returns what each of them printed, in any order.
  std::multiset<std::string> run_all(int count, const std::string& example,
                                     std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), QUORUMLOCK_EXAMPLES "/" + example);
    std::vector<Program> programs;
    for (int i = 0; i < count; ++i) programs.emplace_back(arguments, std::vector{nodes()});
    std::multiset<std::string> said;
    for (Program& program : programs) {
      const Ended ended = program.finish();
      EXPECT_EQ(ended.code, 0) << ended.err;
      said.insert(ended.out);
    }
    return said;
  }
  /// A server answers under the lock, tells a lock that is held from nodes that are gone, and ends
  /// by SIGTERM with 0. A request that waits for its lock at that time is answered.
  void serves(const std::string& example) {
    const auto port_of = [](Program& server) {
      const std::string line = server.line();
      return std::stoi(line.substr(line.rfind(' ')));
    };
    const std::string headers = "Connection: close\r\nContent-Length: 0\r\n";
    Program server({QUORUMLOCK_EXAMPLES "/" + example}, {nodes()});
    const auto status = [&, port = port_of(server)](const std::string& method,
                                                    const std::string& path) {
      HttpConnection connection(port);
      connection.ask(method, path, headers);
      return connection.answer().status;
    };
    EXPECT_TRUE(eventually([&] { return status("GET", "/healthz") == 200; }));
    EXPECT_EQ(status("POST", "/orders/42"), 200);
    hold("orders:42");
    EXPECT_EQ(status("POST", "/orders/42"), 423);

    Program ending({QUORUMLOCK_EXAMPLES "/" + example}, {nodes()});
    const int its_port = port_of(ending);
    const HttpConnection silent(its_port);  // it is not waited for
    HttpConnection under_way(its_port);
    under_way.ask("POST", "/orders/42", headers);
    // The wait may be over before this test sees it: then the answer is there already.
    const auto over = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    EXPECT_TRUE(eventually([&] {
      return cluster.raw(0, {"ZCARD", "quorumlock:queue:orders:42"}).integer > 0 ||
             std::chrono::steady_clock::now() > over;
    }));
    ending.signal(SIGTERM);
    EXPECT_EQ(under_way.answer().status, 423);
    EXPECT_EQ(ending.finish().code, 0);

    let_go("orders:42");
    EXPECT_EQ(status("POST", "/orders/42"), 200);
    for (int node = 0; node < 2; ++node) cluster.kill(node);
    EXPECT_EQ(status("POST", "/orders/42"), 503);
    EXPECT_EQ(status("GET", "/healthz"), 503);
    server.signal(SIGTERM);
    const Ended ended = server.finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / ("examples-" + std::to_string(::getpid()));
};

TEST_F(Examples, AJobRunsOnce) {
  // Eight servers start the job at once: one runs it, the others find that it has run.
  const std::filesystem::path done = directory / "report.done";
  const auto said = run_all(8, "run_once", {done.string()});
  EXPECT_EQ(said.count("ran the job\n"), 1U);
  EXPECT_EQ(said.count("it has run already\n"), 7U);
  EXPECT_THAT(text_of(done), HasSubstr("under fencing token"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 1);
}

TEST_F(Examples, ACacheIsFilledOnce) {
  // Eight callers miss at once, and all get the value that one of them has computed.
  const std::filesystem::path cache = directory / "cache";
  const auto said = run_all(8, "fill_cache", {cache.string(), "price:7"});
  EXPECT_EQ(std::set(said.begin(), said.end()).size(), 1U);
  EXPECT_EQ(*said.begin(), text_of(cache));
  EXPECT_THAT(text_of(cache), HasSubstr("value of price:7, computed by process"));
}

TEST_F(Examples, AFewOfManyWorkersWorkAtOnce) {
  // Six workers have three jobs each: all are done, each under a fencing token of its own.
  const auto said = run_all(6, "worker_pool", {"api", "2", "one", "two", "three"});
  std::set<std::string> lines;
  for (const std::string& of_one : said) {
    std::istringstream text(of_one);
    for (std::string line; std::getline(text, line);) {
      EXPECT_THAT(line, HasSubstr(" under fencing token "));
      EXPECT_TRUE(lines.insert(line.substr(line.find(" under "))).second) << line;
    }
  }
  EXPECT_EQ(lines.size(), 18U);
  // The limit is the same for all processes.
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Semaphore pool(coordinator, "api", 2);
  pool.acquire();
  Program other({QUORUMLOCK_EXAMPLES "/worker_pool", "api", "3", "four"}, {nodes()});
  const Ended ended = other.finish();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("it has a capacity of 2, and not of 3"));
}

TEST_F(Examples, CandidatesLeadOneAfterTheOther) {
  // Three campaign, in this order. The first is asked to end, the second is killed: each time the
  // next one leads, under a greater token.
  const std::vector<std::string> words{QUORUMLOCK_EXAMPLES "/lead", "billing"};
  const auto token_of = [](const std::string& line) {
    EXPECT_THAT(line, testing::StartsWith("leading under fencing token "));
    return std::stoull(line.substr(line.rfind(' ')));
  };
  Program first(words, {nodes()});
  const std::uint64_t before = token_of(first.line());
  const auto waiters = [&] { return cluster.raw(0, {"ZCARD", "quorumlock:queue:leader:billing"}); };
  const long long alone = waiters().integer;
  Program second(words, {nodes()});
  ASSERT_TRUE(eventually([&] { return waiters().integer > alone; }));
  Program third(words, {nodes()});
  ASSERT_TRUE(eventually([&] { return waiters().integer > alone + 1; }));

  first.signal(SIGTERM);
  const Ended ended = first.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::EndsWith("not leading any more\n"));
  const std::uint64_t then = token_of(second.line());
  EXPECT_GT(then, before);
  second.signal(SIGKILL);
  EXPECT_GT(token_of(third.line()), then);
}

TEST_F(Examples, EachShardHasOneConsumer) {
  // Two processes have three of six shards each. When one of them is killed, the third one gets its
  // shards, under greater tokens.
  const std::vector<std::string> words{QUORUMLOCK_EXAMPLES "/sharded_consumer", "orders", "6", "3"};
  const auto taken_by = [](Program& program) {
    std::map<std::string, std::uint64_t> tokens;
    while (tokens.size() < 3) {
      std::istringstream line(program.line());
      std::string took, shard, under, fencing, token, number;
      line >> took >> shard >> number >> under >> fencing >> token;
      EXPECT_EQ(took, "took");
      line >> tokens[number];
    }
    return tokens;
  };
  Program first(words, {nodes()});
  const auto before = taken_by(first);
  Program second(words, {nodes()});
  for (const auto& [shard, token] : taken_by(second)) EXPECT_EQ(before.count(shard), 0U) << shard;
  Program third(words, {nodes()});
  first.signal(SIGKILL);
  for (const auto& [shard, token] : taken_by(third)) {
    ASSERT_EQ(before.count(shard), 1U) << shard;
    EXPECT_GT(token, before.at(shard));
  }
  second.signal(SIGTERM);
  const Ended ended = second.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(Examples, SettingsAreReadAsAWhole) {
  // Writers and readers run at once: every reader shows a host with its own port.
  EXPECT_EQ(run_all(1, "settings", {directory.string(), "a", "1"}).count("a:1\n"), 1U);
  std::vector<Program> programs;
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> words{QUORUMLOCK_EXAMPLES "/settings", directory.string()};
    if (i % 3 == 0) {
      const std::string number = std::to_string(i);
      words.insert(words.end(), {"host" + number, number});
    }
    programs.emplace_back(words, std::vector{nodes()});
  }
  for (Program& program : programs) {
    const Ended ended = program.finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, testing::MatchesRegex("(a:1|host0:0|host3:3|host6:6|host9:9)\n"));
  }
}

TEST_F(Examples, MoneyMovesBetweenAccountsInACircle) {
  // Each account pays the next one, all at once: none waits for ever, and no coin is made or lost.
  const std::vector<std::string> accounts = {"ann", "bob", "cem"};
  for (const std::string& account : accounts) std::ofstream(directory / account) << "100\n";
  std::vector<Program> programs;
  for (int i = 0; i < 9; ++i) {
    const auto at = [&](int number) { return accounts[static_cast<std::size_t>(number % 3)]; };
    programs.emplace_back(
        std::vector<std::string>{QUORUMLOCK_EXAMPLES "/transfer", directory.string(), at(i),
                                 at(i + 1), std::to_string(10 * (i % 3 + 1))},
        std::vector{nodes()});
  }
  for (Program& program : programs) {
    const Ended ended = program.finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, testing::MatchesRegex("moved [0-9]+ under fencing token [0-9]+\n"));
  }
  EXPECT_EQ(text_of(directory / "ann"), "160\n");
  EXPECT_EQ(text_of(directory / "bob"), "70\n");
  EXPECT_EQ(text_of(directory / "cem"), "70\n");
}

TEST_F(Examples, EventsComeToTheSystemsLog) {
  // The example writes to standard error what it gives to syslog. A '%' is a character like any
  // other.
  const Ended ended =
      Program({QUORUMLOCK_EXAMPLES "/log_to_syslog", "report-%s%n"}, {nodes()}).finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(": lease_acquired report-%s%n: "));
  EXPECT_THAT(ended.err, HasSubstr(": lease_released report-%s%n: its holder released it"));
  EXPECT_THAT(ended.err, testing::ContainsRegex(": node_up [^ ]+: it votes"));
}

TEST_F(Examples, AServerOnLibuvTellsHeldFromGone) {
  serves("serve_libuv");
}

#ifdef QUORUMLOCK_SERVE_THREADS
TEST_F(Examples, AServerOnThreadsTellsHeldFromGone) {
  serves("serve_threads");
}
#endif

#ifdef QUORUMLOCK_SERVE_ASIO
TEST_F(Examples, AServerOnAsioTellsHeldFromGone) {
  serves("serve_asio");
}
#endif

#ifdef QUORUMLOCK_LOG_TO_SPDLOG
TEST_F(Examples, EventsComeToSpdlog) {
  const Ended ended = Program({QUORUMLOCK_EXAMPLES "/log_to_spdlog", "report"}, {nodes()}).finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("[locks] [info] lease_acquired node= resource=report holder="));
  EXPECT_THAT(ended.err, HasSubstr("[locks] [info] lease_released node= resource=report holder="));
}
#endif

#ifdef QUORUMLOCK_EXPORT_METRICS
TEST_F(Examples, AWorkerExportsTheMetricsOfItsLocks) {
  Program worker({QUORUMLOCK_EXAMPLES "/export_metrics", "127.0.0.1:0", "one", "two"}, {nodes()});
  const std::string line = worker.line();
  EXPECT_EQ(worker.line(), "one: done");
  EXPECT_EQ(worker.line(), "two: done");
  HttpConnection scrape(std::stoi(line.substr(line.rfind(' '))));
  scrape.ask("GET", "/metrics", "Connection: close\r\n");
  EXPECT_THAT(scrape.answer().body, HasSubstr("\nquorumlock_acquired_total{service=\"worker\"} 2"));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.finish().code, 0);
}
#endif

}  // namespace
}  // namespace quorumlock::test
