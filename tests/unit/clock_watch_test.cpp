#include <gtest/gtest.h>

#include "core/clock_watch.hpp"
#include "support/engine_driver.hpp"

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

TEST(ClockDrift, IsUnknownUntilTwoSamplesStandApart) {
  // One sample, and two that overlap, say nothing.
  ClockWatch watch(0.01, 60s);
  const Time start = Time() + 1h;
  EXPECT_FALSE(watch.drift(0).has_value());
  watch.sample(0, start, start + 2ms, 1'000'000);
  EXPECT_FALSE(watch.drift(0).has_value());
  watch.sample(0, start + 1ms, start + 3ms, 1'001'000);
  EXPECT_FALSE(watch.drift(0).has_value());
}

TEST(ClockDrift, IsTheRateWithItsUncertainty) {
  // Ten seconds of ours, 10.05 of the node's, each look 2 ms wide. Of another node nothing.
  ClockWatch watch(0.01, 60s);
  const Time start = Time() + 1h;
  watch.sample(0, start, start + 2ms, 1'000'000);
  watch.sample(0, start + 10s, start + 10s + 2ms, 11'050'000);
  const auto drift = watch.drift(0);
  ASSERT_TRUE(drift.has_value());
  EXPECT_NEAR(drift->rate, 0.005, 1e-9);
  EXPECT_NEAR(drift->uncertainty, 0.0002, 1e-9);
  EXPECT_FALSE(watch.drift(1).has_value());
}

TEST(ClockDrift, IsJudgedAnewAfterAStep) {
  // A step is no rate.
  ClockWatch watch(0.01, 60s);
  const Time start = Time() + 1h;
  watch.sample(0, start, start + 2ms, 1'000'000);
  EXPECT_TRUE(watch.sample(0, start + 10s, start + 10s + 2ms, 71'000'000).has_value());
  EXPECT_FALSE(watch.drift(0).has_value());
}

TEST(EngineClocks, AStepThatSomebodyElseSeesVoidsTheVotesToo) {
  // Not a vote but an inquiry tells the time: the node is mistrusted for max_ttl all the same.
  test::EngineDriver driver(3);
  const Time start = driver.now;
  driver.engine().on_clock(start + 1ms, 1, start, 5'000'000);
  driver.now = start + 10s;
  driver.engine().on_clock(driver.now + 1ms, 1, driver.now, 75'000'000);
  driver.now += 1ms;
  driver.acquire(1, {.ttl = 10s, .stop_margin = 1s}, 0s);
  EXPECT_GT(driver.only<ClockJumped>().size, 59s);
  EXPECT_EQ(driver.only<ClockJumped>().node, 1);
  driver.reply(0, Vote::granted);
  EXPECT_EQ(driver.count<Acquired>(), 0U);
  driver.reply(2, Vote::granted);
  EXPECT_EQ(driver.only<Acquired>().attempts, 1);
}

}  // namespace
}  // namespace quorumlock::core
