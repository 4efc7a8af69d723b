#include "cli/fixture.hpp"

// Commands that run once for each period of a name.
namespace quorumlock::test {
namespace {

class RunOnce : public CommandLine {
 protected:
  /// Runs a command that prints "ran" and ends with this code.
  Ended once(const std::string& period, int code = 0, std::vector<std::string> flags = {}) {
    std::vector<std::string> words{"run", "--once", period, "--wait", "20s"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(),
                 {"report", "--", "sh", "-c", "echo ran; exit " + std::to_string(code)});
    return run(words);
  }
};

TEST_F(RunOnce, ACommandRunsOnceForAPeriodAndItsCodeIsPassedOn) {
  const Ended first = once("20261127");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, "ran\n");
  for (const std::string period : {"20261127", "20261126", "0"}) {
    const Ended again = once(period);
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(again.out, "") << period;
  }
  EXPECT_EQ(once("20261128").out, "ran\n");
  EXPECT_THAT(cluster.keys(), IsEmpty());
}

TEST_F(RunOnce, OnlyACommandThatEndsWithZeroHasDoneIt) {
  EXPECT_EQ(once("7", 3).code, 3);
  const Ended again = once("7", 3);
  EXPECT_EQ(again.code, 3);
  EXPECT_EQ(again.out, "ran\n");
  EXPECT_EQ(once("7").out, "ran\n");
  EXPECT_EQ(once("7").out, "");
}

TEST_F(RunOnce, TheDocumentSaysWhatBecameOfIt) {
  EXPECT_EQ(json::parse(once("7", 3, {"--json"}).err)["once"], "not_done");
  EXPECT_EQ(json::parse(once("7", 0, {"--json"}).err)["once"], "ran");
  const json before = json::parse(once("7", 0, {"--json"}).err);
  EXPECT_EQ(before["once"], "done_before");
  EXPECT_EQ(before["exit_code"], 0);
}

TEST_F(RunOnce, ARunThatLosesItsLockIsRepeated) {
  Program lost = start_run("report", "echo runs; while :; do sleep 1000 & wait $!; done",
                           {"--once", "7", "--ttl", "2s"});
  EXPECT_EQ(lost.line(), "runs");
  for (int node = 0; node < cluster.size(); ++node) cluster.plant(node, "report");
  EXPECT_EQ(lost.finish().code, 76);
  cluster.raw_everywhere({"DEL", "report"});
  EXPECT_EQ(once("7").out, "ran\n");
}

TEST_F(RunOnce, WrongCommandLinesAreRefused) {
  for (const std::string text : {"soon", "-1", "7.5", "", "18446744073709551616"}) {
    const Ended refused = once(text);
    EXPECT_EQ(refused.code, 64) << text;
    EXPECT_THAT(refused.err, HasSubstr("--once is \"" + text + "\": it must be")) << text;
  }
  const Ended great = once("9007199254740992");
  EXPECT_EQ(great.code, 64);
  EXPECT_THAT(great.err, HasSubstr("the period is 9007199254740992: it must be below 2^53"));
  EXPECT_EQ(once("1", 0, {"--shared"}).code, 64);
  EXPECT_EQ(once("1", 0, {"--permits", "2"}).code, 64);
  EXPECT_EQ(run({"run", "--once", "1", "a", "b", "--", "true"}).code, 64);
}

}  // namespace
}  // namespace quorumlock::test
