#include <quorumlock/coordinator.hpp>

#include "cli/fixture.hpp"

// `quorumlock observe` prints the leader, and each change of it.
namespace quorumlock::test {
namespace {

class Observe : public CommandLine {
 protected:
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
  Election election{coordinator, "billing"};
};

TEST_F(Observe, EachChangeIsALine) {
  // The program sees nobody, a leader, another value of the leader, and nobody again.
  Program program = start({"observe", "billing"});
  EXPECT_EQ(program.line(), "nobody leads");
  Leadership leads = election.campaign("10.0.0.7:8080").value();
  const std::string token = std::to_string(leads.fencing_token());
  EXPECT_EQ(program.line(), "10.0.0.7:8080 leads, fencing token " + token);
  // A value cannot print a line or a command for the terminal.
  ASSERT_TRUE(leads.proclaim("x\nnobody leads\x1b[2J"));
  EXPECT_EQ(program.line(), "x\\u000anobody leads\\u001b[2J leads, fencing token " + token);
  ASSERT_TRUE(leads.resign());
  EXPECT_EQ(program.line(), "nobody leads");
  program.signal(SIGINT);
  const Ended ended = program.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(Observe, WithJsonEachChangeIsADocument) {
  // The token is never shown as a whole: anybody could release the lock with it.
  Leadership leads = election.campaign("here").value();
  Program program = start({"--json", "observe", "billing"});
  const std::string token = leads.lease().owner_token();
  const json first = json::parse(program.line());
  EXPECT_EQ(first.at("resource"), "billing");
  const json expected = {{"value", "here"},
                         {"label", token.substr(41)},
                         {"token_begin", token.substr(0, 8)},
                         {"fencing_token", leads.fencing_token()}};
  EXPECT_EQ(first.at("leader"), expected);
  ASSERT_TRUE(leads.resign());
  EXPECT_EQ(json::parse(program.line()).at("leader"), nullptr);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 128 + SIGTERM);
}

TEST_F(Observe, OnceEndsWithACodeForScripts) {
  // The exit code is 75 if nobody leads, 0 if somebody does, and 69 if no quorum answers.
  const Ended nobody = run({"observe", "--once", "billing"});
  EXPECT_EQ(nobody.code, 75);
  EXPECT_EQ(nobody.out, "nobody leads\n");
  const Leadership leads = election.campaign("here").value();
  const Ended somebody = run({"observe", "--once", "billing"});
  EXPECT_EQ(somebody.code, 0) << somebody.err;
  EXPECT_THAT(somebody.out, testing::StartsWith("here leads"));
  cluster.kill(0);
  cluster.kill(1);
  const Ended unknown = run({"observe", "--once", "--json", "billing"});
  EXPECT_EQ(unknown.code, 69);
  EXPECT_EQ(json::parse(unknown.out).at("error").at("code"), "no_quorum");
}

TEST_F(Observe, ALeaderWithoutAValueIsShownByItsLabel) {
  // `run` holds the same lock and leads, without a value.
  Program holder = start_run("billing", "echo up; exec sleep 1000");
  EXPECT_EQ(holder.line(), "up");
  Program program = start({"observe", "billing"});
  EXPECT_THAT(program.line(), testing::MatchesRegex(".*:" + std::to_string(holder.pid()) +
                                                    ":sh leads, fencing token [0-9]+"));
  holder.signal(SIGTERM);
  EXPECT_EQ(program.line(), "nobody leads");
}

TEST_F(Observe, AnotherProgramsValueLeadsNobodyAndIsNotShown) {
  // It may be a secret, and who wrote it is no candidate. A token with nothing behind its digits is
  // one of ours, of a client without a label.
  hold("billing");
  for (const bool json : {false, true}) {
    std::vector<std::string> words = {"observe", "--once", "billing"};
    if (json) words.insert(words.begin(), "--json");
    const Ended observed = run(words);
    EXPECT_EQ(observed.code, 75);
    EXPECT_THAT(observed.out + observed.err, testing::Not(testing::HasSubstr("foreign")));
  }
  const std::string ours(40, 'a');
  for (int node = 0; node < cluster.size(); ++node) cluster.raw(node, {"SET", "billing", ours});
  EXPECT_THAT(run({"observe", "--once", "billing"}).out,
              testing::StartsWith("the holder of token aaaaaaaa... leads"));
}

TEST_F(Observe, ItLooksOnUntilThereIsAQuorum) {
  cluster.kill(0);
  cluster.kill(1);
  Program program = start({"observe", "billing"});
  cluster.restart(0);
  cluster.restart(1);
  EXPECT_EQ(program.line(), "nobody leads");
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 0);
}

}  // namespace
}  // namespace quorumlock::test
