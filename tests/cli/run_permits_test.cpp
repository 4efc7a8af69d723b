#include "cli/fixture.hpp"

// Commands that run while they hold one of several permits.
namespace quorumlock::test {
namespace {

class RunPermits : public CommandLine {
 protected:
  /// A command with one of two permits, which prints its fencing token and ends by a signal.
  [[nodiscard]] Program start_with_permit(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"--permits", "2"});
    return start_run("api",
                     "echo $QUORUMLOCK_RESOURCE $QUORUMLOCK_FENCING_TOKEN;"
                     "while :; do sleep 1000 & wait $!; done",
                     flags);
  }
  /// Waits until a third command is in the line.
  bool somebody_waits() {
    return eventually([&] {
      return cluster.raw(0, {"ZCARD", "quorumlock:queue:quorumlock:semaphore:api"}).integer == 1;
    });
  }
  static std::uint64_t token_of(Program& program) {
    const std::string line = program.line();
    EXPECT_THAT(line, testing::MatchesRegex("api [0-9]+"));
    return std::stoull(line.substr(line.find(' ')));
  }
};

TEST_F(RunPermits, AsManyCommandsRunAtOnceAsThereArePermits) {
  // Two commands run, the third is refused or waits; the lock of the same name is free.
  Program one = start_with_permit();
  const std::uint64_t first = token_of(one);
  Program two = start_with_permit();
  const std::uint64_t second = token_of(two);
  EXPECT_GT(second, first);
  EXPECT_EQ(run({"run", "--permits", "2", "api", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "--permits", "2", "--wait", "2s", "api", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "api", "--", "true"}).code, 0);

  Program third = start_with_permit({"--wait", "forever"});
  ASSERT_TRUE(somebody_waits());
  EXPECT_TRUE(third.says_on_error("waiting for a permit of api: permits are held by "));
  two.signal(SIGTERM);
  EXPECT_EQ(two.finish().code, 128 + SIGTERM);
  EXPECT_GT(token_of(third), second);
  for (Program* program : {&one, &third}) {
    program->signal(SIGTERM);
    EXPECT_EQ(program->finish().code, 128 + SIGTERM);
  }
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(RunPermits, AllUsersMustNameTheSameNumber) {
  // Another number while a permit is held is a mistake in somebody's configuration.
  Program one = start_with_permit();
  token_of(one);
  const Ended other = run({"run", "--permits", "3", "api", "--", "true"});
  EXPECT_EQ(other.code, 64);
  EXPECT_THAT(other.err, HasSubstr("it has a capacity of 2, and not of 3"));
}

TEST_F(RunPermits, WithoutAQuorumThereIsNoPermit) {
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(run({"run", "--permits", "2", "api", "--", "true"}).code, 69);
}

TEST_F(RunPermits, ALostPermitEndsItsCommand) {
  // The command is ended as it is if a lock is lost.
  Program program = start_with_permit({"--ttl", "1s"});
  token_of(program);
  cluster.kill(0);
  cluster.kill(1);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("a permit of api was lost"));
}

TEST_F(RunPermits, ASignalEndsTheWaitForAPermit) {
  Program one = start_with_permit();
  Program two = start_with_permit();
  token_of(one);
  token_of(two);
  Program third = start_with_permit({"--wait", "forever"});
  ASSERT_TRUE(somebody_waits());
  third.signal(SIGTERM);
  const Ended ended = third.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr("while waiting for a permit"));
}

}  // namespace
}  // namespace quorumlock::test
