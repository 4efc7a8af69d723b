#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

namespace fs = std::filesystem;

constexpr int size = 3;

bool all_free(int first) {
  for (int port = first; port < first + size; ++port) {
    if (port > 65535 || local::port_in_use(port)) return false;
  }
  return true;
}

/// Whether the process runs, and is not just waiting to be reaped.
bool runs(pid_t pid) {
  std::string words;
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::getline(file, words);
  return !words.empty();
}

/// A cluster in a directory of the test's own; both end with the test.
class ClusterCommand : public testing::Test {
 protected:
  ~ClusterCommand() override { run("stop"); }

  Ended run(const std::string& what, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {QUORUMLOCK_PROGRAM, "--json", "cluster", what, "--dir", dir()});
    return Program(more, environment).finish();
  }
  /// Starts the cluster on ports that turn out to be free, and returns the document.
  json start() {
    for (int tries = 0; tries < 20; ++tries) {
      port = local::free_port();
      if (!all_free(port)) continue;
      const Ended ended = run("start", flags());
      if (ended.code == 0) return json::parse(ended.out);
    }
    ADD_FAILURE() << "no free ports";
    return {};
  }
  [[nodiscard]] std::vector<std::string> flags() const {
    std::vector<std::string> flags{"--size", std::to_string(size), "--port", std::to_string(port)};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    return flags;
  }
  [[nodiscard]] std::string dir() const { return (directory.path() / "state/cluster").string(); }
  static std::string message(const Ended& ended) {
    return json::parse(ended.out).at("error").at("message");
  }

  /// Gives every command a configuration with this max_ttl.
  void use_max_ttl(const std::string& max_ttl) {
    const std::string file = (configuration.path() / "config.json").string();
    std::ofstream(file) << R"({"ttl": "900ms", "max_ttl": ")" << max_ttl << "\"}";
    environment.push_back("QUORUMLOCK_CONFIG=" + file);
  }

  TemporaryDirectory directory, configuration;
  int port = 0;
  std::vector<std::string> more_flags;
  std::vector<std::string> environment;
};

/// The file of the server that the tests use.
fs::path server_on_path() {
  std::stringstream folders(std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::exists(fs::path(folder) / "redis-server")) {
      return fs::canonical(fs::path(folder) / "redis-server");
    }
  }
  throw std::runtime_error("there is no redis-server on the PATH");
}

TEST_F(ClusterCommand, StartedNodesAnswerAndAreDurable) {
  // `start` returns when all nodes answer, they go on without it, and its report about them is
  // right.
  const json started = start();
  ASSERT_EQ(started.at("nodes").size(), size);
  for (const json& node : started.at("nodes")) {
    EXPECT_TRUE(node.at("answers"));
    Redis redis(node.at("url"));
    EXPECT_EQ(redis({"CONFIG", "GET", "appendonly"}).elements.at(1).text, "yes");
    EXPECT_EQ(redis({"CONFIG", "GET", "appendfsync"}).elements.at(1).text, "always");
    EXPECT_EQ(redis({"CONFIG", "GET", "dir"}).elements.at(1).text, node.at("dir"));
    EXPECT_THAT(redis({"INFO", "server"}).text,
                HasSubstr("process_id:" + std::to_string(node.at("pid").get<int>()) + "\r\n"));
  }
  const Ended status = run("status");
  EXPECT_EQ(status.code, 0);
  EXPECT_EQ(json::parse(status.out), started);
}

TEST_F(ClusterCommand, TheServerOfRedisToolsIsEnough) {
  // Debian's redis-tools has no redis-server, but the same program as redis-check-rdb.
  const fs::path tools = directory.path() / "tools";
  fs::create_directory(tools);
  fs::create_symlink(server_on_path(), tools / "redis-check-rdb");
  environment = {"PATH=" + tools.string()};
  EXPECT_TRUE(start().at("nodes").at(0).at("answers"));
  const Ended status = run("status");
  EXPECT_EQ(status.code, 0) << status.out;
}

#if QUORUMLOCK_WITH_TLS
TEST_F(ClusterCommand, CanSpeakTlsOnly) {
  // The report names a configuration with which every command works; nothing but TLS is spoken.
  more_flags = {"--tls"};
  const json started = start();
  EXPECT_EQ(started.at("nodes")[0].at("url"), "rediss://127.0.0.1:" + std::to_string(port));
  const std::string config = started.at("config_file");
  const auto with_config = [&](std::vector<std::string> command) {
    command.insert(command.begin(), {QUORUMLOCK_PROGRAM, "--json", "--config", config});
    return Program(command).finish();
  };
  EXPECT_EQ(with_config({"run", "--wait", "20s", "job", "--", "true"}).code, 0);
  const Ended status = with_config({"status"});
  EXPECT_EQ(status.code, 0) << status.out;
  EXPECT_EQ(with_config({"members"}).code, 0);

  // Without the authority each node's vote is lost, and the reason is named.
  const std::string url = started.at("nodes")[0].at("url");
  const Ended refused =
      Program({QUORUMLOCK_PROGRAM, "--json", "--nodes", url, "acquire", "job"}).finish();
  EXPECT_EQ(refused.code, 69);
  EXPECT_THAT(refused.out, HasSubstr("unknown authority"));

  EXPECT_EQ(run("start").code, 0);
  EXPECT_EQ(run("stop").code, 0);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}
#endif

TEST_F(ClusterCommand, StopLeavesNothingBehind) {
  // No process, port or file is left, not even the directories that had to be made.
  const json started = start();
  const Ended stopped = run("stop");
  EXPECT_EQ(stopped.code, 0);
  EXPECT_EQ(json::parse(stopped.out).at("ended"), size);
  for (const json& node : started.at("nodes")) {
    const pid_t pid = node.at("pid");
    EXPECT_FALSE(runs(pid));
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
  // The second time there is nothing to do, and the program says so.
  EXPECT_EQ(run("stop").code, 0);
  EXPECT_EQ(run("status").code, 1);
}

TEST_F(ClusterCommand, StartedTwiceIsTheSameCluster) {
  // A node that died is started again with its data, and the command waits until it votes; another
  // size or port is refused.
  use_max_ttl("1s");
  const json started = start();
  const pid_t pid = started.at("nodes")[1].at("pid");
  Redis(started.at("nodes")[1].at("url"))({"SET", "key", "value"});
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return run("status").code == 1; }));
  const Ended again = run("start");
  EXPECT_EQ(again.code, 0) << again.out;
  const json nodes = json::parse(again.out).at("nodes");
  EXPECT_EQ(nodes[0].at("pid"), started.at("nodes")[0].at("pid"));
  EXPECT_NE(nodes[1].at("pid"), pid);
  EXPECT_EQ(Redis(nodes[1].at("url"))({"GET", "key"}).text, "value");
  EXPECT_THAT(again.err, HasSubstr("started 1 of 3 nodes again, with their data"));
  EXPECT_THAT(again.err, HasSubstr("vote once max_ttl has passed"));
  const Ended other = run("start", {"--size", "5"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(message(other), HasSubstr("cluster of 3 nodes"));
}

TEST_F(ClusterCommand, ANodeOfAnOldDirectoryVotesOnlyAfterMaxTtl) {
  // All nodes have died, as at a restart of the machine.
  use_max_ttl("2s");
  const json started = start();
  for (const json& node : started.at("nodes")) ::kill(node.at("pid").get<pid_t>(), SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const json now = json::parse(run("status").out);
    return std::ranges::none_of(now.at("nodes"),
                                [](const json& node) { return node.at("answers"); });
  }));
  const Clock::time_point begin = Clock::now();
  const Ended again = run("start");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_GE(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_THAT(again.err, HasSubstr("started 3 of 3 nodes again, with their data"));
  std::string urls;
  for (const json& node : started.at("nodes")) {
    urls += (urls.empty() ? "" : ",") + node.at("url").get<std::string>();
  }
  const Ended status =
      Program({QUORUMLOCK_PROGRAM, "--json", "--nodes", urls, "status"}, environment).finish();
  EXPECT_EQ(json::parse(status.out).at("voters"), size) << status.out;
}

TEST_F(ClusterCommand, APortInUseIsRefusedBeforeAnythingIsStarted) {
  // The sentence names the port and the remedy; nothing is left of the other nodes either.
  const TemporaryDirectory elsewhere;
  const local::Server other =
      local::Server::start({.dir = elsewhere.path() / "other", .port = local::free_port()});
  port = other.settings().port - 1;
  const Ended refused = run("start", flags());
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(message(refused), HasSubstr("--port"));
  EXPECT_THAT(message(refused), HasSubstr("is in use"));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(ClusterCommand, AStartThatFailsHalfWayLeavesNothing) {
  // There is no redis-server on the PATH.
  port = local::free_port();
  Program program({QUORUMLOCK_PROGRAM, "cluster", "start", "--dir", dir(), "--size", "1", "--port",
                   std::to_string(port)},
                  {"PATH=" + directory.path().string()});
  const Ended failed = program.finish();
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("is it installed"));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(ClusterCommand, AnInterruptedStartLeavesAllOrNothing) {
  // SIGINT comes at moments from the program's first instruction to after its last.
  for (int moment = 0; moment < 10; ++moment) {
    port = local::free_port();
    if (!all_free(port)) continue;
    std::vector<std::string> words = {QUORUMLOCK_PROGRAM, "cluster", "start", "--dir", dir()};
    for (const std::string& flag : flags()) words.push_back(flag);
    Program program(words);
    const auto then = Clock::now() + std::chrono::milliseconds(8) * moment;
    while (Clock::now() < then) std::this_thread::yield();
    program.signal(SIGINT);
    const Ended ended = program.finish();
    if (ended.code == 0) {
      EXPECT_EQ(run("status").code, 0);
      EXPECT_EQ(run("stop").code, 0);
    } else {
      EXPECT_EQ(ended.code, 128 + SIGINT) << ended.err;
    }
    EXPECT_TRUE(fs::is_empty(directory.path())) << moment;
    EXPECT_TRUE(all_free(port)) << moment;
  }
}

TEST_F(ClusterCommand, FilesThatItDidNotMakeAreLeftAlone) {
  // A directory that is not empty is refused; a file that came later stays when all else goes.
  fs::create_directories(dir());
  std::ofstream(fs::path(dir()) / "precious") << "data";
  port = local::free_port();
  const Ended refused = run("start", flags());
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(run("stop").code, 0);
  EXPECT_TRUE(fs::exists(fs::path(dir()) / "precious"));
  fs::remove(fs::path(dir()) / "precious");
  start();
  std::ofstream(fs::path(dir()) / "node-2" / "precious") << "data";
  const Ended stopped = run("stop");
  EXPECT_EQ(stopped.code, 0);
  EXPECT_EQ(json::parse(stopped.out).at("left_as_not_ours").size(), 1);
  EXPECT_TRUE(fs::exists(fs::path(dir()) / "node-2" / "precious"));
  EXPECT_FALSE(fs::exists(fs::path(dir()) / "node-2" / "redis.log"));
  EXPECT_FALSE(fs::exists(fs::path(dir()) / "node-1"));
}

TEST_F(ClusterCommand, StopEndsNoOtherProcess) {
  // A pid file names a process that is not the node: the number has been reused since.
  start();
  Program bystander({"sleep", "1000"});
  const json nodes = json::parse(run("status").out).at("nodes");
  const pid_t pid = nodes[0].at("pid");
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return run("status").code == 1; }));
  std::ofstream(fs::path(dir()) / "node-1" / "redis.pid") << bystander.pid() << '\n';
  EXPECT_EQ(run("stop").code, 0);
  EXPECT_EQ(::kill(bystander.pid(), 0), 0);
  bystander.signal(SIGTERM);
  EXPECT_EQ(bystander.finish().code, 128 + SIGTERM);
}

TEST_F(ClusterCommand, StopEndsAStoppedNode) {
  // Somebody has sent SIGSTOP to one of the nodes.
  const json started = start();
  ::kill(started.at("nodes")[0].at("pid").get<pid_t>(), SIGSTOP);
  const Ended stopped = run("stop");
  EXPECT_EQ(stopped.code, 0);
  EXPECT_EQ(json::parse(stopped.out).at("ended"), size);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(ClusterCommand, OnlyOneCommandAtATimeUsesADirectory) {
  // While another such command works on the directory, this one is refused.
  fs::create_directories(dir());
  const int fd = ::open(dir().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  const Ended refused = run("start", {"--size", "1", "--port", std::to_string(local::free_port())});
  ::close(fd);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(message(refused), HasSubstr("another quorumlock"));
}

TEST_F(ClusterCommand, ItsDirectoryIsInTheUsersStateByDefault) {
  // Without --dir the directory is below XDG_STATE_HOME.
  const std::string state = "XDG_STATE_HOME=" + directory.path().string();
  Program program({QUORUMLOCK_PROGRAM, "cluster", "status"}, {state});
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(directory.path().string() + "/quorumlock/cluster"));
}

}  // namespace
}  // namespace quorumlock::test
