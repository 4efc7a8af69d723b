#include "lock/trace.hpp"

#include "support/engine_driver.hpp"

// The steps of one acquisition, as the engine notes them for a caller that asked for them.
namespace quorumlock::test {
namespace {

using core::Trace;

/// A step in short, such as "3ms voted n1 granted".
std::string line_of(const Trace& trace, const Trace::Step& step) {
  std::string line =
      std::to_string((step.at - trace.called()) / 1ms) + "ms " + std::string(to_string(step.kind));
  if (step.node >= 0) line += " n" + std::to_string(step.node + 1);
  if (step.vote != Vote::pending) line += " " + std::string(to_string(step.vote));
  if (step.count != 0) line += " " + std::to_string(step.count);
  return line;
}

std::vector<std::string> lines_of(const Trace& trace) {
  std::vector<std::string> lines;
  for (const Trace::Step& step : trace.steps()) lines.push_back(line_of(trace, step));
  return lines;
}

using Lines = std::vector<std::string>;

/// Three nodes that are connected, and one traced acquisition.
struct Traced {
  explicit Traced(const core::Engine::Config& config = EngineDriver::fencing(3)) : driver(config) {
    for (int node = 0; node < 3; ++node) driver.link(node, LinkState::up);
  }
  core::WaiterId acquire(core::Duration wait = 0s, bool ordered = false) {
    driver.trace = &trace;
    return ordered ? driver.acquire_in_order(1, ten_seconds, wait)
                   : driver.acquire(1, ten_seconds, wait);
  }
  void reply_after(core::Duration span, int node, const core::Answer& answer) {
    driver.now += span;
    driver.reply(node, answer);
  }

  EngineDriver driver;
  Trace trace{core::Time()};
};

TEST(Traces, KeepTheFirstAndTheLatestSteps) {
  Trace trace{core::Time()};
  for (int i = 0; i < 1000; ++i) {
    trace.add({at(i * 1ms), TraceKind::voted, i, 0, Vote::held});
    ASSERT_LE(trace.steps().size(), Trace::most);
    ASSERT_EQ(trace.steps().back().attempt, i);
  }
  const std::vector<Trace::Step>& steps = trace.steps();
  for (std::size_t i = 0; i < Trace::first; ++i) EXPECT_EQ(steps[i].attempt, static_cast<int>(i));
  const Trace::Step& gap = steps[Trace::first];
  EXPECT_EQ(gap.kind, TraceKind::left_out);
  EXPECT_EQ(gap.at, at(64ms));
  EXPECT_EQ(gap.count + steps.size() - 1, 1000U);
  EXPECT_EQ(steps[Trace::first + 1].attempt, static_cast<int>(gap.count) + 64);
  EXPECT_GE(steps.size() - Trace::first - 1, 127U);
}

TEST(Traces, OfAnAcquisitionHaveEachNodesVote) {
  // The last node's vote comes after the verdict: it is not in the trace.
  Traced test;
  test.acquire();
  test.reply_after(1ms, 1, {.vote = Vote::granted, .fence = 7});
  test.reply_after(2ms, 0, {.vote = Vote::granted, .fence = 7});
  test.reply_after(1ms, 2, {.vote = Vote::granted, .fence = 7});
  EXPECT_EQ(test.driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(lines_of(test.trace), (Lines{"0ms begun", "0ms sent 3", "1ms voted n2 granted",
                                         "3ms voted n1 granted", "3ms won"}));
}

TEST(Traces, SayWhyANodeHasNoVote) {
  // One node is down and is not asked, one is late, and the third refuses.
  Traced test;
  test.driver.link(0, LinkState::down);
  test.acquire();
  test.driver.now += 500ms;
  test.driver.time_out(1);
  test.reply_after(1ms, 2, {Vote::held});
  EXPECT_EQ(test.driver.only<core::Refused>().why, Errc::no_quorum);
  EXPECT_EQ(lines_of(test.trace),
            (Lines{"0ms begun", "0ms sent 2", "0ms voted n1 unreachable",
                   "500ms voted n2 timed_out", "500ms lost", "500ms refused"}));
}

TEST(Traces, ShowTheWaitForConnections) {
  EngineDriver driver(EngineDriver::fencing(3));  // all nodes are being connected
  Trace trace{core::Time()};
  driver.now = at(1ms);
  driver.trace = &trace;
  driver.acquire(1, ten_seconds);
  driver.now = at(4ms);
  for (const int node : {0, 1}) {
    driver.link(node, LinkState::up);
    driver.reply(node, {.vote = Vote::granted, .fence = 7});
  }
  EXPECT_EQ(lines_of(trace),
            (Lines{"1ms begun", "1ms sent 3", "1ms connecting n1", "1ms connecting n2",
                   "1ms connecting n3", "4ms connected n1", "4ms voted n1 granted",
                   "4ms connected n2", "4ms voted n2 granted", "4ms won"}));
}

TEST(Traces, ShowTheRoundThatRaisesTheCounters) {
  Traced test;
  test.acquire();
  test.reply_after(1ms, 0, {.vote = Vote::granted, .fence = 7});
  test.reply_after(1ms, 1, {.vote = Vote::granted, .fence = 8});
  test.reply_after(1ms, 0, {.vote = Vote::granted, .fence = 8});
  EXPECT_EQ(test.driver.count<core::Acquired>(), 1U);
  const Lines lines = lines_of(test.trace);
  ASSERT_GE(lines.size(), 6U);
  EXPECT_EQ(lines[4], "2ms raising n1");
  EXPECT_EQ(lines[5], "3ms raised n1 granted");
  EXPECT_EQ(lines.back(), "3ms won");
}

TEST(Traces, ShowTheWaitInTheLine) {
  // The lock is held at first; the waiter enters the line, hears its place, and a release wakes it.
  Traced test;
  test.acquire(1h, true);
  for (const int node : {0, 1, 2}) test.driver.reply(node, Vote::held);
  test.driver.now += 5ms;
  for (int turns = 0; turns < 3; ++turns) {  // the release of the attempt, and the entries
    for (const int node : {0, 1, 2}) {
      while (!test.driver.unanswered(node).empty()) {
        const core::Tag tag = test.driver.unanswered(node).front().tag;
        if (tag.kind == CommandKind::queue) {
          test.driver.reply(node, {core::Place{.before = node == 2 ? 3 : node, .free = false}});
        } else {
          test.driver.reply(node, Vote::absent);
        }
      }
    }
  }
  const std::size_t entered = test.trace.steps().size();
  test.driver.now += 100ms;
  for (const int node : {0, 1}) test.driver.wake(node, 1);
  for (const int node : {0, 1}) test.reply_after(1ms, node, {.vote = Vote::granted, .fence = 7});
  EXPECT_EQ(test.driver.count<core::Acquired>(), 1U);
  const Lines lines = lines_of(test.trace);
  EXPECT_EQ(Lines(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(entered)),
            (Lines{"0ms begun", "0ms sent 3", "0ms voted n1 held", "0ms voted n2 held", "0ms lost",
                   "0ms entered 3", "5ms placed n1 held", "5ms placed n2 held 1",
                   "5ms placed n3 held 2"}));
  EXPECT_EQ(Lines(lines.begin() + static_cast<std::ptrdiff_t>(entered), lines.end()),
            (Lines{"105ms woken n1 absent", "105ms woken n2 absent", "105ms sent 3",
                   "106ms voted n1 granted", "107ms voted n2 granted", "107ms won"}));
}

TEST(Traces, ShowPausesAndTheCancellation) {
  Traced test;
  const core::WaiterId waiter = test.acquire(1h);
  test.driver.answer_all(Vote::held);
  test.driver.pass(EngineDriver::delay + EngineDriver::jitter);
  test.driver.cancel(waiter);
  const std::vector<Trace::Step>& steps = test.trace.steps();
  std::vector<TraceKind> kinds;
  for (const Trace::Step& step : steps) {
    if (step.kind != TraceKind::voted) kinds.push_back(step.kind);
  }
  EXPECT_EQ(kinds, (std::vector{TraceKind::begun, TraceKind::sent, TraceKind::lost,
                                TraceKind::pausing, TraceKind::sent, TraceKind::refused}));
  EXPECT_EQ(steps.back().attempt, 2);
  test.driver.answer_all(Vote::absent);
  test.driver.expect_nothing_left();
}

TEST(Traces, ShowTheQueueOfTheProcess) {
  core::Engine::Config config = EngineDriver::fencing(3);
  config.window = 1;
  Traced test(config);
  test.driver.acquire(2, ten_seconds, 0s, "another");
  test.acquire();
  EXPECT_EQ(lines_of(test.trace), (Lines{"0ms begun", "0ms queued"}));
  test.driver.now += 3ms;
  for (const int node : {0, 1}) test.driver.reply(node, {.vote = Vote::granted, .fence = 7});
  ASSERT_EQ(lines_of(test.trace).size(), 3U);
  EXPECT_EQ(lines_of(test.trace)[2], "3ms sent 3");
}

}  // namespace
}  // namespace quorumlock::test
