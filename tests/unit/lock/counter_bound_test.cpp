#include "lock/counter_bound.hpp"

#include <gtest/gtest.h>

#include "wire/numbers.hpp"

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

TEST(CounterBound, IsFencingMemoryBeyondOurClockOrThatOfEnoughNodes) {
  const std::uint64_t hour = 3'600'000'000;
  EXPECT_EQ(counts_up_to(1'000, {}, 1, 1h), hour + 1'000);
  EXPECT_EQ(counts_up_to(1'000, {9'000}, 2, 1h), hour + 1'000) << "one node may say anything";
  EXPECT_EQ(counts_up_to(1'000, {9'000, 2'000, 0}, 2, 1h), hour + 2'000);
  EXPECT_EQ(counts_up_to(1'000, {900, 800, 700}, 2, 1h), hour + 1'000) << "ours is ahead";
  EXPECT_EQ(counts_up_to(-7'200'000'000, {}, 1, 1h), 0U);
}

TEST(CounterBound, LeavesRoomForAFloorByClocks) {
  // A floor by clocks is a minute beyond a node's TIME, and a node's clock may be ahead of ours.
  // With a fencing_memory of a few seconds it would be taken for made up.
  const std::int64_t now = 1'700'000'000'000'000;
  const std::int64_t ahead = now + 100'000'000;
  const auto floor = static_cast<std::uint64_t>(ahead + redis::counter_ahead_us);
  EXPECT_LE(floor, counts_up_to(now, {now, ahead, now}, 2, 4s));
}

TEST(CounterBound, IsTheNumberThatEnoughNodesHaveReached) {
  EXPECT_EQ(shared_by(2, {}), 0U);
  EXPECT_EQ(shared_by(2, {7}), 0U);
  EXPECT_EQ(shared_by(2, {7, 9}), 7U);
  EXPECT_EQ(shared_by(2, {7, 9, 8}), 8U);
}

}  // namespace
}  // namespace quorumlock::core
