#include <fstream>

#include "cli/fixture.hpp"
#include "cli/notify_socket.hpp"

// `quorumlock leader`: candidates that run a command while they lead.
namespace quorumlock::test {
namespace {

/// Prints its fencing token, and ends when it is asked to.
constexpr const char* until_told =
    "trap 'echo stopped; exit 0' TERM; echo $QUORUMLOCK_RESOURCE $QUORUMLOCK_FENCING_TOKEN;"
    " while :; do sleep 0.01; done";

class LeaderCommand : public CommandLine {
 protected:
  [[nodiscard]] Program start_leader(std::vector<std::string> flags = {},
                                     const std::string& script = until_told,
                                     const std::string& variable = "QUORUMLOCK_=") const {
    std::vector<std::string> words = {QUORUMLOCK_PROGRAM, "leader"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"billing", "--", "sh", "-c", script});
    return Program(words, {nodes(), variable});
  }
  static std::uint64_t token_of(Program& program) {
    const std::string line = program.line();
    EXPECT_THAT(line, testing::MatchesRegex("billing [0-9]+"));
    return std::stoull(line.substr(line.find(' ')));
  }
  /// Returns once this many candidates wait.
  bool waiting(int count) {
    return eventually([&] {
      return cluster.raw(0, {"ZCARD", "quorumlock:queue:billing"}).integer == count;
    });
  }
  std::string leader_now() { return run({"observe", "--once", "billing"}).out; }
};

TEST_F(LeaderCommand, TheNextCandidateLeadsWhenTheLeaderEnds) {
  // The first is asked to end and resigns, the second is killed with its command, the third leads.
  Program first = start_leader();
  const std::uint64_t one = token_of(first);
  Program second = start_leader({"--ttl", "1s"});
  ASSERT_TRUE(waiting(1));
  Program third = start_leader({"--value", "10.0.0.7:8080"});
  ASSERT_TRUE(waiting(2));

  // An operator sees that it is an election, not just a lock.
  ASSERT_EQ(run({"acquire", "--ttl", "20s", "a-lock"}).code, 0);
  ASSERT_TRUE(eventually([&] {
    return run({"locks"}).out.find("billing   leader ") != std::string::npos;
  })) << run({"locks"}).out;
  EXPECT_THAT(run({"locks"}).out, HasSubstr("a-lock    exclusive "));
  const json listed = json::parse(run({"--json", "locks"}).out).at("locks");
  EXPECT_FALSE(listed.at(0).contains("leads"));
  EXPECT_EQ(listed.at(1).at("leads"), true);
  EXPECT_EQ(listed.at(1).at("mode"), "exclusive");
  for (int node = 0; node < 3; ++node) cluster.raw(node, {"DEL", "a-lock"});

  first.signal(SIGTERM);
  const Ended ended = first.finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::EndsWith("\nstopped\n"));
  EXPECT_THAT(ended.err, HasSubstr("the command has ended"));
  const std::uint64_t two = token_of(second);
  EXPECT_GT(two, one);
  EXPECT_THAT(leader_now(),
              testing::MatchesRegex(".*:" + std::to_string(second.pid()) +
                                    ":sh leads, fencing token " + std::to_string(two) + "\n"));
  second.signal(SIGKILL);
  const std::uint64_t three = token_of(third);
  EXPECT_GT(three, two);
  EXPECT_EQ(leader_now(), "10.0.0.7:8080 leads, fencing token " + std::to_string(three) + "\n");
  third.signal(SIGTERM);
  EXPECT_EQ(third.finish().code, 0);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(LeaderCommand, ALostLeadershipEndsTheCommandAndIsCampaignedForAgain) {
  // Somebody takes the lock away, and gives it back later: the command runs once more, under a
  // greater token, and nobody else ran it meanwhile.
  Program program = start_leader({"--ttl", "3s", "--kill-after", "1h"});
  const std::uint64_t before = token_of(program);
  hold("billing");
  EXPECT_EQ(program.line(), "stopped");
  ASSERT_TRUE(waiting(1));
  let_go("billing");
  EXPECT_GT(token_of(program), before);
  program.signal(SIGTERM);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("was lost after"));
  EXPECT_THAT(ended.err, HasSubstr("campaigning again"));
}

TEST_F(LeaderCommand, WithoutAQuorumTheCommandIsEndedUntilThereIsOne) {
  // Nodes that are stopped answer nothing; the leader notices, and leads again once they answer.
  Program program = start_leader({"--ttl", "3s", "--kill-after", "1h"});
  token_of(program);
  cluster.pause(0);
  cluster.pause(1);
  EXPECT_EQ(program.line(), "stopped");
  cluster.resume(0);
  cluster.resume(1);
  token_of(program);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 0);
}

TEST_F(LeaderCommand, ACommandThatEndsByItselfResigns) {
  // The command's exit code comes through, and the next candidate leads at once.
  Fifo held = fifo();
  Program first = start_leader({}, "echo up; read line < " + held.path() + "; exit 3");
  EXPECT_EQ(first.line(), "up");
  Program second = start_leader();
  ASSERT_TRUE(waiting(1));
  // The shell may open the pipe after this, and its open returns only while a writer has the pipe.
  std::ofstream writer(held.path());
  writer << "end\n" << std::flush;
  EXPECT_EQ(first.finish().code, 3);
  token_of(second);
}

TEST_F(LeaderCommand, ACandidateSaysWhomItWaitsFor) {
  Program first = start_leader();
  token_of(first);
  Program second = start_leader();
  EXPECT_TRUE(second.says_on_error("waiting for the leadership of billing: held by "));
  first.signal(SIGTERM);
  first.finish();
  EXPECT_GT(token_of(second), 0U);
  second.signal(SIGTERM);
  EXPECT_THAT(second.finish().err,
              testing::MatchesRegex("quorumlock: waiting for the leadership of billing: held by "
                                    ".*:sh for .*\n(quorumlock: .*\n)+"));
}

TEST_F(LeaderCommand, ASignalEndsACandidateThatWaits) {
  // Nothing is left in the line.
  hold("billing");
  Program program = start_leader();
  ASSERT_TRUE(waiting(1));
  program.signal(SIGTERM);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 128 + SIGTERM);
  EXPECT_THAT(ended.err, HasSubstr("interrupted by SIGTERM while campaigning for billing"));
  EXPECT_TRUE(waiting(0));
}

TEST_F(LeaderCommand, AskedToEndItDoesNotCampaignAgain) {
  // The command goes on after SIGTERM until the leadership is lost: then both end, with 76.
  Program program = start_leader({"--ttl", "2s"},
                                 "trap 'echo asked' TERM; echo up; while :; do sleep 0.01; done");
  EXPECT_EQ(program.line(), "up");
  program.signal(SIGTERM);
  EXPECT_EQ(program.line(), "asked");
  cluster.kill(0);
  cluster.kill(1);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 76);
  EXPECT_THAT(ended.err, HasSubstr("the leadership of billing was lost"));
}

TEST_F(LeaderCommand, TheServiceIsReadyWhileItCampaigns) {
  // A candidate that waits has started; the status says whether it campaigns or leads.
  const NotifySocket manager((directory.path() / "notify").string());
  hold("billing");
  Program program = start_leader({}, until_told, manager.variable());
  EXPECT_EQ(manager.message(), "READY=1\nSTATUS=campaigning for billing");
  ASSERT_TRUE(waiting(1));
  let_go("billing");
  EXPECT_THAT(manager.message(),
              testing::MatchesRegex("STATUS=leading billing, fencing token [0-9]+"));
  token_of(program);
  program.signal(SIGTERM);
  EXPECT_THAT(manager.message(), testing::StartsWith("STOPPING=1\nSTATUS=the command has ended"));
  EXPECT_EQ(program.finish().code, 0);
}

TEST_F(LeaderCommand, WithJsonEachEventIsADocument) {
  // The documents are on standard error, since standard output is the command's.
  const Ended ended = start_leader({"--json"}, "echo mine; exit 4").finish();
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.out, "mine\n");
  const std::size_t end = ended.err.find('\n');
  const json leading = json::parse(ended.err.substr(0, end));
  EXPECT_EQ(leading.at("event"), "leading");
  EXPECT_EQ(leading.at("resource"), "billing");
  EXPECT_GT(leading.at("fencing_token"), 0);
  const json last = json::parse(ended.err.substr(end + 1));
  EXPECT_EQ(last.at("event"), "ended");
  EXPECT_EQ(last.at("exit_code"), 4);
}

TEST_F(LeaderCommand, ACommandThatCannotRunFailsAtOnce) {
  // The program fails before it campaigns, with the codes of `run`.
  EXPECT_EQ(run({"leader", "billing", "--", "/nowhere/at/all"}).code, 127);
  EXPECT_EQ(run({"leader", "--failure-exit-code", "5", "billing", "--", "/nowhere"}).code, 5);
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(LeaderCommand, AHangupIsForTheCommandOrTheNodes) {
  // If there is a configuration file, a waiting candidate reads the nodes again at a hangup; while
  // the command runs, the command gets the hangup.
  const std::filesystem::path file = directory.path() / "options.json";
  std::ofstream(file) << json{{"nodes", cluster.urls()}};
  hold("billing");
  Program program({QUORUMLOCK_PROGRAM, "--config", file, "leader", "billing", "--", "sh", "-c",
                   "trap 'echo hangup' HUP; echo up; while :; do sleep 0.01; done"});
  ASSERT_TRUE(waiting(1));
  program.signal(SIGHUP);
  let_go("billing");
  EXPECT_EQ(program.line(), "up");
  program.signal(SIGHUP);
  EXPECT_EQ(program.line(), "hangup");
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
}

}  // namespace
}  // namespace quorumlock::test
