#include "wait/arrival_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/seeded_random.hpp"

// Which of several integers was added first.
namespace quorumlock::test {
namespace {

using core::ArrivalOrder;

TEST(ArrivalOrders, KnowTheFirstAsOthersComeAndGo) {
  // The order is compared with a list, in which the first one is easily found.
  ArrivalOrder order;
  std::vector<std::uint32_t> list;
  SeededRandom random(1);
  EXPECT_FALSE(order.first());
  for (int step = 0; step < 10'000; ++step) {
    const auto id = static_cast<std::uint32_t>(random.below(core::Duration(50)).count());
    const auto found = std::ranges::find(list, id);
    if (found == list.end()) {
      order.add(id);
      list.push_back(id);
    } else {
      order.remove(id);
      list.erase(found);
    }
    ASSERT_EQ(order.first().has_value(), !list.empty());
    if (list.empty()) continue;
    ASSERT_EQ(*order.first(), list.front()) << step;
  }
  for (const std::uint32_t id : list) order.remove(id);
  EXPECT_FALSE(order.first());
}

}  // namespace
}  // namespace quorumlock::test
