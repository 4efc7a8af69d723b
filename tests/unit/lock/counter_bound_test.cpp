#include "lock/counter_bound.hpp"

#include <gtest/gtest.h>

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

TEST(CounterBound, IsFencingMemoryBeyondOurClockOrThatOfEnoughNodes) {
  EXPECT_EQ(counts_up_to(1'000, {}, 1, 500us), 1'500U);
  EXPECT_EQ(counts_up_to(1'000, {9'000}, 2, 500us), 1'500U) << "one node may say anything";
  EXPECT_EQ(counts_up_to(1'000, {9'000, 2'000, 0}, 2, 500us), 2'500U);
  EXPECT_EQ(counts_up_to(1'000, {900, 800, 700}, 2, 500us), 1'500U) << "ours is ahead of theirs";
  EXPECT_EQ(counts_up_to(-1'000, {}, 1, 500us), 0U);
}

TEST(CounterBound, IsTheNumberThatEnoughNodesHaveReached) {
  EXPECT_EQ(shared_by(2, {}), 0U);
  EXPECT_EQ(shared_by(2, {7}), 0U);
  EXPECT_EQ(shared_by(2, {7, 9}), 7U);
  EXPECT_EQ(shared_by(2, {7, 9, 8}), 8U);
}

}  // namespace
}  // namespace quorumlock::core
