#include "api/timeline.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

// The text of a traced acquisition.
namespace quorumlock {
namespace {

using namespace std::chrono_literals;

Outcome traced(std::vector<TraceStep> steps) {
  return {.votes = {}, .quorum = 2, .attempts = 1, .trace = std::move(steps)};
}

TEST(Timelines, HaveARowForEachStepAndTheSumOfTheTime) {
  const Outcome outcome = traced({
      {TraceKind::begun, 100us, 0},
      {TraceKind::sent, 200us, 1, "", Vote::pending, 3},
      {TraceKind::connecting, 200us, 1, "n2"},
      {TraceKind::connecting, 200us, 1, "n3"},
      {TraceKind::voted, 1200us, 1, "n1", Vote::granted},
      {TraceKind::connected, 4200us, 1, "n2"},
      {TraceKind::voted, 6200us, 1, "n2", Vote::granted},
      {TraceKind::raising, 6200us, 1, "n1"},
      {TraceKind::voted, 6700us, 1, "n3", Vote::granted},
      {TraceKind::raised, 8200us, 1, "n1", Vote::granted},
      {TraceKind::won, 8200us, 1},
  });
  EXPECT_EQ(outcome.timeline(),
            "won after 8.20 ms, attempts: 1\n"
            "   0.10 ms |*                       | taken up by the loop\n"
            "   0.20 ms |*                       | attempt 1 sent to 3 nodes, 2 still connecting\n"
            "   1.20 ms |====                    | n1  granted, 1.00 ms\n"
            "   4.20 ms |============            | n2  connected, 4.00 ms\n"
            "   6.20 ms |           =======      | n2  granted, 2.00 ms\n"
            "   6.20 ms |                 *      | n1  asked to raise its fencing counter\n"
            "   6.70 ms |===================     | n3  granted, 6.50 ms\n"
            "   8.20 ms |                 =======| n1  counter raised, 2.00 ms\n"
            "   8.20 ms |                       *| won\n"
            "time: in this process 0.20 ms, connecting 4.00 ms, waiting for votes 2.00 ms, raising "
            "fencing counters 2.00 ms");
}

TEST(Timelines, SumUpAWaitInTheLine) {
  const Outcome outcome = traced({
      {TraceKind::begun, 0s, 0},
      {TraceKind::sent, 0s, 1, "", Vote::pending, 3},
      {TraceKind::voted, 1ms, 1, "n1", Vote::held},
      {TraceKind::lost, 1ms, 1},
      {TraceKind::entered, 1ms, 1, "", Vote::pending, 3},
      {TraceKind::placed, 2ms, 1, "n1", Vote::held, 2},
      {TraceKind::left_out, 500ms, 1, "", Vote::pending, 64},
      {TraceKind::woken, 900ms, 1, "n1", Vote::absent},
      {TraceKind::sent, 1900ms, 2, "", Vote::pending, 3},
      {TraceKind::lost, 1950ms, 2},
      {TraceKind::refused, 2s, 2},
  });
  const std::string text = outcome.timeline();
  EXPECT_NE(text.find("refused after 2.00 s, attempts: 2\n"), text.npos) << text;
  EXPECT_NE(text.find("\n   2.00 ms |"), text.npos) << text;
  EXPECT_NE(text.find("\n1900.00 ms |                     *  | attempt 2 sent"), text.npos) << text;
  EXPECT_NE(text.find("n1  several waiters before it, 1.00 ms"), text.npos) << text;
  EXPECT_NE(text.find("64 steps left out"), text.npos) << text;
  EXPECT_NE(
      text.find("time: waiting for votes 51.0 ms, waiting in the line 549.0 ms, in steps left "
                "out 1.40 s"),
      text.npos)
      << text;
}

TEST(Timelines, NameThePlaceInTheLineAndWhatANodeDidWithTheCounter) {
  const auto words = [](const TraceStep& step) {
    const std::string text = traced({step}).timeline();
    const std::size_t begin = text.find("n1  ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const auto placed = [&](std::size_t before, Vote vote) {
    return words({TraceKind::placed, 0s, 1, "n1", vote, before});
  };
  EXPECT_EQ(placed(0, Vote::absent), "n1  first in the line, free");
  EXPECT_EQ(placed(0, Vote::held), "n1  first in the line, held");
  EXPECT_EQ(placed(1, Vote::held), "n1  one waiter before it");
  EXPECT_EQ(placed(2, Vote::absent), "n1  several waiters before it");
  EXPECT_EQ(words({TraceKind::raised, 0s, 1, "n1", Vote::granted}), "n1  counter raised");
  EXPECT_EQ(words({TraceKind::raised, 0s, 1, "n1", Vote::held}), "n1  counter is as high already");
  EXPECT_EQ(words({TraceKind::raised, 0s, 1, "n1", Vote::timed_out}), "n1  timed out");
}

TEST(Timelines, AreEmptyWithoutATrace) {
  EXPECT_EQ(traced({}).timeline(), "");
  EXPECT_EQ(traced({{TraceKind::begun, 0s, 0}}).timeline(),
            "taken up by the loop after 0.00 ms, attempts: 0\n"
            "   0.00 ms |*                       | taken up by the loop\n"
            "time: no time passed");
}

TEST(Timelines, HaveAWordForEachKind) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(TraceKind::left_out); ++i) {
    const auto kind = static_cast<TraceKind>(i);
    EXPECT_TRUE(names.insert(std::string(to_string(kind))).second) << i;
    EXPECT_NE(to_string(kind), "unknown");
    EXPECT_EQ(traced({{kind, 0s, 1}}).timeline().find("unknown"), std::string::npos) << i;
  }
}

}  // namespace
}  // namespace quorumlock
