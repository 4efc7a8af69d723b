#include <fstream>

#include "cli/fixture.hpp"

namespace quorumlock::test {
namespace {

/// A script that reports a request to end, and goes on.
constexpr const char* stubborn = "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done";

/// The process that is to end the command if quorumlock cannot; 0 if there is none.
pid_t guard_of(pid_t program) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string stat;
    std::ifstream file(entry.path() / "stat");
    std::getline(file, stat);
    const std::size_t name = stat.find("(qlock-guard) ");
    if (name == stat.npos) continue;
    // The name is followed by a letter for the process's state, and by its parent.
    const std::string rest = stat.substr(name + std::string("(qlock-guard) S ").size());
    if (rest.starts_with(std::to_string(program) + " ")) return std::stoi(entry.path().filename());
  }
  return 0;
}

class RunLoss : public CommandLine {
 protected:
  /// Runs a command that does not end when it is asked to, with enough time to report the request,
  /// even on a busy machine.
  [[nodiscard]] Program start_stubborn(const std::vector<std::string>& flags = {}) const {
    const std::filesystem::path config = directory.path() / "config.json";
    std::ofstream(config) << R"({"ttl": "3s", "stop_margin": "1800ms"})";
    std::vector<std::string> words = {QUORUMLOCK_PROGRAM, "--config", config, "run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"orders", "--", "sh", "-c", stubborn});
    return Program(words, {nodes()});
  }
};

TEST_F(RunLoss, WithoutAQuorumTheCommandIsAskedAndThenKilled) {
  // Two of three nodes die: the lease is not renewed. SIGTERM comes before its end, SIGKILL at it.
  Program program = start_stubborn();
  EXPECT_EQ(program.line(), "ready");
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(program.line(), "asked");
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("lost"));
}

TEST_F(RunLoss, SilentNodesDoNotMakeAQuorumEither) {
  // The nodes are stopped, not dead: nothing refuses the renewals, nothing answers them.
  Program program = start_stubborn({"--json"});
  EXPECT_EQ(program.line(), "ready");
  cluster.pause(1);
  cluster.pause(2);
  EXPECT_EQ(program.line(), "asked");
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 76);
  EXPECT_EQ(document_in(ended.err).at("error").at("exit_code"), 76);
}

TEST_F(RunLoss, ACommandThatEndsWhenAskedStillLostItsLock) {
  // The command has been cut short, whatever its exit code.
  Program program = start_run(
      "orders", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done", {"--ttl", "2s"});
  EXPECT_EQ(program.line(), "ready");
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(program.finish().code, 76);
}

TEST_F(RunLoss, KillAfterGivesTheCommandMoreTime) {
  // The command may finish its work after the lease's end, as --kill-after allows.
  Program program = start_run("orders",
                              "trap 'sleep 1; echo cleaned; exit' TERM; echo ready;"
                              " while :; do sleep 0.01; done",
                              {"--ttl", "1s", "--kill-after", "1h"});
  EXPECT_EQ(program.line(), "ready");
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(program.line(), "cleaned");
  EXPECT_EQ(program.finish().code, 76);
}

TEST_F(RunLoss, ALockTakenAwayEndsTheCommandBeforeTheTtlDoes) {
  // Somebody overwrites the keys: the next renewal finds out, long before the lease would have
  // ended.
  const auto begin = std::chrono::steady_clock::now();
  Program program = start_run("orders", stubborn, {"--ttl", "12s"});
  EXPECT_EQ(program.line(), "ready");
  hold("orders");
  EXPECT_EQ(program.finish().code, 76);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(11));
  EXPECT_EQ(cluster.holders("orders", "foreign"), 2);
}

TEST_F(RunLoss, ACommandDoesNotOutliveTheLeaseOfAStoppedProgram) {
  // quorumlock is stopped and cannot end the command: the guard does. Continued, it reports that.
  Fifo held = fifo();
  Program program =
      start_run("orders", "exec 3> " + held.path() + "; echo up >&3; sleep 1000", {"--ttl", "1s"});
  ASSERT_TRUE(held.somebody_came());
  program.stop();
  EXPECT_TRUE(held.all_have_gone());
  program.signal(SIGCONT);
  EXPECT_EQ(program.finish().code, 76);
}

TEST_F(RunLoss, ALeaseIsRenewedForAsLongAsTheCommandRuns) {
  // The command runs for more than two ttls with the same token, then ends by itself.
  Program program = start_run("orders", "echo $QUORUMLOCK_TOKEN; sleep 3", {"--ttl", "1s"});
  const std::string token = program.line();
  EXPECT_EQ(program.finish().code, 0);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(RunLoss, TheCommandIsKilledIfItsGuardIs) {
  // Without the guard nothing would end the command if quorumlock were killed.
  Program program = start_run("orders", "echo ready; sleep 1000");
  EXPECT_EQ(program.line(), "ready");
  pid_t guard = 0;
  ASSERT_TRUE(eventually([&] { return (guard = guard_of(program.pid())) != 0; }));
  ::kill(guard, SIGKILL);
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(RunLoss, StoppedNodesDelayTheEndByOneTimeoutOnly) {
  // Neither the release nor the end of the program is answered: both together take what one does.
  const std::filesystem::path config = directory.path() / "config.json";
  std::ofstream(config) << R"({"node_timeout": "4s"})";
  for (const char* verb : {"run", "leader"}) {
    Program program({QUORUMLOCK_PROGRAM, "--config", config, verb, "orders", "--", "sh", "-c",
                     "echo ready; exec sleep 600"},
                    {nodes()});
    EXPECT_EQ(program.line(), "ready");
    for (int node = 0; node < cluster.size(); ++node) cluster.pause(node);
    const auto asked = std::chrono::steady_clock::now();
    program.signal(SIGTERM);
    EXPECT_EQ(program.finish().code, 128 + SIGTERM);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::milliseconds(5500)) << verb;
    cluster.heal();
  }
}

}  // namespace
}  // namespace quorumlock::test
