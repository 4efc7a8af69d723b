#include "lock/clock_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/engine_driver.hpp"

// The nodes' clocks against ours: a drift within the bound is never reported, one beyond it is.
namespace quorumlock::test {
namespace {

using core::ClockWatch;
using core::Duration;

constexpr double bound = 0.01;
constexpr Duration span = 30s;

/// A node whose clock runs at a given rate of ours; sample() asks for its time.
class Node {
 public:
  explicit Node(double rate = 1) : rate_(rate) {}

  core::Time now = at(1h);
  void pass(Duration time) {
    now += time;
    clock_ += static_cast<double>(time.count()) * rate_;
  }
  void step(Duration by) { clock_ += static_cast<double>(by.count()); }
  void run_at(double rate) { rate_ = rate; }
  /// The node is asked now, reads its clock after `there`, and its answer arrives `back` later.
  std::optional<Duration> sample(ClockWatch& watch, Duration there, Duration back, int node = 0) {
    const core::Time asked = now;
    pass(there);
    const auto us = epoch_us + static_cast<std::int64_t>(std::floor(clock_ / 1000));
    pass(back);
    return watch.sample(node, asked, now, us);
  }

 private:
  double rate_;
  static constexpr std::int64_t epoch_us = 1'700'000'000'000'000;
  double clock_ = 0;  // ns since then
};

TEST(ClockWatch, OneSampleProvesNothing) {
  // Only the advance of a node's clock counts, not the time that it shows.
  ClockWatch watch(bound, span);
  Node node;
  EXPECT_FALSE(node.sample(watch, 1ms, 1ms));
}

TEST(ClockWatch, AStepIsReportedWithItsSizeAndSign) {
  // A second passes for us, and a minute more or less for the node. The reported size is right to
  // within the samples' width and the bound, and never exaggerated.
  for (const Duration step : {Duration(60s), Duration(-60s), Duration(100ms), Duration(-100ms)}) {
    ClockWatch watch(bound, span);
    Node node;
    node.sample(watch, 1ms, 1ms);
    node.pass(1s);
    node.step(step);
    const std::optional<Duration> beyond = node.sample(watch, 1ms, 1ms);
    ASSERT_TRUE(beyond) << to_text(step);
    EXPECT_EQ(*beyond > 0s, step > 0s);
    const Duration size = std::chrono::abs(*beyond);
    EXPECT_LE(size, std::chrono::abs(step));
    EXPECT_GE(size, std::chrono::abs(step) - 15ms);
  }
}

TEST(ClockWatch, AStepIsReportedOnce) {
  // After the report the node is judged by its new time; a step back is another step.
  ClockWatch watch(bound, span);
  Node node;
  node.sample(watch, 1ms, 1ms);
  node.step(10s);
  EXPECT_TRUE(node.sample(watch, 1ms, 1ms));
  for (int i = 0; i < 100; ++i) {
    node.pass(1s);
    ASSERT_FALSE(node.sample(watch, 1ms, 1ms));
  }
  node.step(-10s);
  const std::optional<Duration> back = node.sample(watch, 1ms, 1ms);
  ASSERT_TRUE(back);
  EXPECT_LT(*back, 0s);
}

TEST(ClockWatch, AStepWithinTheSamplesWidthIsNotSeen) {
  // The answers take 20 ms, so a step of 15 ms may be noise and is not proven.
  for (const Duration step : {15ms, -15ms}) {
    ClockWatch watch(0, span);
    Node node;
    node.sample(watch, 10ms, 10ms);
    node.pass(100ms);
    node.step(step);
    EXPECT_FALSE(node.sample(watch, 10ms, 10ms)) << to_text(step);
  }
}

TEST(ClockWatch, SamplesCloseTogetherProveNothing) {
  // Two commands are under way at the same time and are answered in order; the order of the node's
  // readings within their common span is unknown. A step between them shows in the next sample that
  // was asked for after the first answer.
  ClockWatch watch(bound, span);
  Node node;
  const core::Time asked = node.now;
  EXPECT_FALSE(watch.sample(0, asked, asked + 2ms, 1'000'000'000));
  EXPECT_FALSE(watch.sample(0, asked + 1ms, asked + 3ms, 7'000'000'000));
  EXPECT_TRUE(watch.sample(0, asked + 4ms, asked + 5ms, 7'000'002'000));
}

TEST(ClockWatch, EachNodeIsJudgedByItself) {
  // n2 steps; n1 and n3, asked at the same moments, are fine.
  ClockWatch watch(bound, span);
  std::array<Node, 3> nodes;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) {
      Node& node = nodes[static_cast<std::size_t>(i)];
      node.pass(1s);
      if (round == 5 && i == 1) node.step(2s);
      ASSERT_EQ(node.sample(watch, 1ms, 1ms, i).has_value(), round == 5 && i == 1);
    }
  }
}

TEST(ClockWatch, AClockThatIsTooFastIsCaughtWithinTheSpan) {
  // The clock is two per cent too fast or too slow, and one per cent is allowed. With ten samples a
  // second, each 10 ms wide, no two neighbours prove the drift, but a few seconds do.
  for (const double rate : {1.02, 1 / 1.02}) {
    ClockWatch watch(bound, span);
    Node node(rate);
    const core::Time begun = node.now;
    std::optional<Duration> beyond;
    while (!beyond && node.now < begun + span) {
      beyond = node.sample(watch, 5ms, 5ms);
      node.pass(90ms);
    }
    ASSERT_TRUE(beyond) << rate;
    EXPECT_EQ(*beyond > 0s, rate > 1);
    EXPECT_GT(node.now - begun, 500ms) << "sooner than can be proven";
  }
}

TEST(ClockWatch, AClockThatBecomesTooFastAfterADayIsCaught) {
  // The clock is right for a day, then two per cent too fast. The watch catches that within two
  // spans, since it compares with no older sample than that.
  ClockWatch watch(bound, span);
  Node node;
  for (int i = 0; i < 86'400; ++i) {
    ASSERT_FALSE(node.sample(watch, 5ms, 5ms));
    node.pass(990ms);
  }
  node.run_at(1.02);
  const core::Time changed = node.now;
  std::optional<Duration> beyond;
  while (!beyond && node.now < changed + 2 * span) {
    beyond = node.sample(watch, 5ms, 5ms);
    node.pass(990ms);
  }
  EXPECT_TRUE(beyond);
}

TEST(ClockWatch, ARateWithinTheBoundIsNeverReported) {
  // Random walks: the rate changes all the time, anywhere within the bound and often at one of its
  // ends; answers take from no time to seconds, up to an hour passes in between, and nothing is
  // ever reported.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SeededRandom random(seed);
    ClockWatch watch(bound, span);
    Node node;
    for (int i = 0; i < 300; ++i) {
      const double fastest = 1 + bound;
      const double slowest = 1 / (1 + bound);
      const int which = random.between(0, 3);
      node.run_at(which == 0   ? fastest
                  : which == 1 ? slowest
                               : slowest + (fastest - slowest) * random.between(0, 1000) / 1000);
      const auto draw = [&random](Duration most) {
        return random.one_in(4) ? Duration() : most * random.between(0, 1000) / 1000;
      };
      const std::optional<Duration> beyond =
          node.sample(watch, draw(random.one_in(5) ? 2s : 5ms), draw(random.one_in(5) ? 2s : 5ms));
      ASSERT_FALSE(beyond) << "seed " << seed << ", sample " << i << ": " << to_text(*beyond);
      node.pass(draw(random.one_in(10) ? Duration(1h) : random.one_in(3) ? 40s : 50ms));
    }
  }
}

TEST(ClockWatch, ARateBeyondTheBoundIsProvenIfTheSamplesAreSharp) {
  // The rate is one tenth of a per cent beyond either end of the bound: over ten seconds that is 10
  // ms, and the samples are a millisecond wide.
  for (const double rate : {1.011, 1 / 1.011}) {
    ClockWatch watch(bound, span);
    Node node(rate);
    node.sample(watch, 500us, 500us);
    node.pass(10s);
    EXPECT_TRUE(node.sample(watch, 500us, 500us)) << rate;
  }
}

TEST(ClockWatch, WithoutToleranceTheRoundingIsStillAllowed) {
  // A node reports whole microseconds. Even with no allowed drift and samples of no width, the
  // rounding is not taken for a step.
  SeededRandom random(11);
  ClockWatch watch(0, span);
  for (int i = 0; i < 10'000; ++i) {
    const Duration now = i * 1s + random.between(0, 999'999) * 1ns;
    const std::int64_t us = now / 1us;
    ASSERT_FALSE(watch.sample(0, at(now), at(now), us));
  }
}

TEST(ClockWatchDrift, IsUnknownUntilTwoSamplesAreFarApart) {
  // Neither one sample nor two that overlap give a rate.
  ClockWatch watch(0.01, 60s);
  const core::Time start = at(1h);
  EXPECT_FALSE(watch.drift(0).has_value());
  watch.sample(0, start, start + 2ms, 1'000'000);
  EXPECT_FALSE(watch.drift(0).has_value());
  watch.sample(0, start + 1ms, start + 3ms, 1'001'000);
  EXPECT_FALSE(watch.drift(0).has_value());
}

TEST(ClockWatchDrift, IsTheRateWithItsUncertainty) {
  // Ten seconds pass for us, 10.05 for the node; each sample is 2 ms wide. Another node has none.
  ClockWatch watch(0.01, 60s);
  const core::Time start = at(1h);
  watch.sample(0, start, start + 2ms, 1'000'000);
  watch.sample(0, start + 10s, start + 10s + 2ms, 11'050'000);
  const auto drift = watch.drift(0);
  ASSERT_TRUE(drift.has_value());
  EXPECT_NEAR(drift->rate, 0.005, 1e-9);
  EXPECT_NEAR(drift->uncertainty, 0.0002, 1e-9);
  EXPECT_FALSE(watch.drift(1).has_value());
}

TEST(ClockWatchDrift, IsMeasuredAgainAfterAStep) {
  // A step does not count as a rate.
  ClockWatch watch(0.01, 60s);
  const core::Time start = at(1h);
  watch.sample(0, start, start + 2ms, 1'000'000);
  EXPECT_TRUE(watch.sample(0, start + 10s, start + 10s + 2ms, 71'000'000).has_value());
  EXPECT_FALSE(watch.drift(0).has_value());
}

}  // namespace
}  // namespace quorumlock::test
