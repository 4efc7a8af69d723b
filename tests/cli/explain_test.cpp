#include <sstream>

#include "cli/fixture.hpp"

// What --explain says about where the time of an acquisition went.
namespace quorumlock::test {
namespace {

class Explain : public CommandLine {
 protected:
  /// How many waiters the lock's line has on the first node.
  long long waiters(const std::string& resource) {
    return cluster.raw(0, {"ZCARD", "quorumlock:queue:" + resource}).integer;
  }
};

int count_of(const std::string& text, const std::string& words) {
  int count = 0;
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++count;
  return count;
}

TEST_F(Explain, RunShowsTheVotesBeforeTheCommandRuns) {
  // The timeline is on standard error; the command's output and code are not touched.
  const Ended ended =
      start_run("orders", "echo out; echo the command >&2; exit 3", {"--explain"}).finish();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_THAT(ended.err, testing::StartsWith("won after "));
  EXPECT_THAT(ended.err, HasSubstr("attempt 1 sent to 3 nodes"));
  EXPECT_GE(count_of(ended.err, "  granted, "), 2);
  EXPECT_THAT(ended.err, HasSubstr("\ntime: "));
  EXPECT_THAT(ended.err, testing::EndsWith("\nthe command\n"));
  EXPECT_EQ(start_run("orders", "true").finish().err, "");
}

TEST_F(Explain, ARefusalShowsTheNodesThatRefused) {
  hold("orders");
  const Ended ended = run({"run", "--explain", "orders", "--", "true"});
  EXPECT_EQ(ended.code, 75);
  EXPECT_THAT(ended.err, testing::StartsWith("quorumlock: could not lock \"orders\""));
  EXPECT_THAT(ended.err, HasSubstr("\nrefused after "));
  EXPECT_GE(count_of(ended.err, "  held by another, "), 2);
}

TEST_F(Explain, AWaitShowsTheLineAndAnInterruptedOneToo) {
  hold("orders");
  Program waits = start({"run", "--explain", "--wait", "forever", "orders", "--", "true"});
  ASSERT_TRUE(eventually([&] { return waiters("orders") == 1; }));
  let_go("orders");
  Ended ended = waits.finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("entered the line on "));
  EXPECT_THAT(ended.err, HasSubstr("first in the line, "));
  EXPECT_THAT(ended.err, HasSubstr(", waiting in the line "));

  hold("orders");
  Program interrupted = start({"acquire", "--explain", "--wait", "forever", "orders"});
  ASSERT_TRUE(eventually([&] { return waiters("orders") == 1; }));
  interrupted.signal(SIGINT);
  ended = interrupted.finish();
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, testing::StartsWith("quorumlock: interrupted by SIGINT"));
  EXPECT_THAT(ended.err, HasSubstr("entered the line on "));
  EXPECT_THAT(ended.err, HasSubstr("| refused\n"));
}

TEST_F(Explain, JsonHasTheStepsInItsDocument) {
  const Ended acquired = run({"--json", "acquire", "--explain", "orders"});
  EXPECT_EQ(acquired.code, 0);
  EXPECT_EQ(acquired.err, "");
  const json trace = json::parse(acquired.out)["trace"];
  ASSERT_TRUE(trace.is_array());
  EXPECT_EQ(trace[0]["what"], "begun");
  EXPECT_EQ(trace.back()["what"], "won");
  int granted = 0;
  long long last = 0;
  for (const json& step : trace) {
    EXPECT_GE(step["at_us"].get<long long>(), last);
    last = step["at_us"].get<long long>();
    if (step["what"] == "voted" && step["vote"] == "granted") ++granted;
  }
  EXPECT_GE(granted, 2);

  const Ended refused = run({"--json", "run", "--explain", "orders", "--", "true"});
  EXPECT_EQ(refused.code, 75);
  EXPECT_EQ(document_in(refused.err)["error"]["trace"].back()["what"], "refused");
  const Ended ran = run({"--json", "run", "--explain", "other", "--", "true"});
  EXPECT_EQ(document_in(ran.err)["trace"].back()["what"], "won");
  EXPECT_FALSE(document_in(run({"--json", "run", "other", "--", "true"}).err).contains("trace"));
}

TEST_F(Explain, TheJsonLogHasTheTimelineAsOneLine) {
  const Ended ended = run({"--log-format", "json", "run", "--explain", "orders", "--", "true"});
  EXPECT_EQ(ended.code, 0);
  bool found = false;
  std::istringstream lines(ended.err);
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line);
    if (object["event"] != "timeline") continue;
    found = true;
    EXPECT_THAT(object["reason"].get<std::string>(), testing::StartsWith("won after "));
  }
  EXPECT_TRUE(found) << ended.err;
}

}  // namespace
}  // namespace quorumlock::test
