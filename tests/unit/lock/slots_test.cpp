#include "lock/slots.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

TEST(Slots, AnIdNamesNothingOnceItsObjectIsGivenBack) {
  // A late answer has the id of a claim that is gone, and whose place another claim has taken.
  Slots<int> slots;
  const SlotId first = slots.take();
  slots[first] = 1;
  slots.give_back(first);
  const SlotId second = slots.take();
  slots[second] = 2;
  EXPECT_EQ(second.index, first.index);
  EXPECT_EQ(slots.find(first), nullptr);
  ASSERT_NE(slots.find(second), nullptr);
  EXPECT_EQ(*slots.find(second), 2);
}

TEST(Slots, TheDefaultIdNamesNothing) {
  // The default id names nothing even if there are objects.
  Slots<int> slots;
  EXPECT_EQ(slots.find(SlotId()), nullptr);
  (void)slots.take();
  EXPECT_EQ(slots.find(SlotId()), nullptr);
}

TEST(Slots, TheMemoryOfAFreedObjectIsKeptForItsNextUser) {
  // A string's memory is reused.
  Slots<std::string> slots;
  const SlotId id = slots.take();
  slots[id].assign(1000, 'x');
  slots.give_back(id);
  EXPECT_GE(slots[slots.take()].capacity(), 1000U);
}

TEST(Slots, ObjectsStayWhereTheyAre) {
  // Taking more objects moves none of them, so references stay valid.
  Slots<int> slots;
  const SlotId first = slots.take();
  const int* place = slots.find(first);
  for (int i = 0; i < 10'000; ++i) (void)slots.take();
  EXPECT_EQ(slots.find(first), place);
}

TEST(Slots, ForEachMayFreeTheObjectThatItVisits) {
  // Every object is visited once, although each visit frees it.
  Slots<int> slots;
  for (int i = 0; i < 10; ++i) slots[slots.take()] = i;
  int sum = 0;
  slots.for_each([&](SlotId id) {
    sum += slots[id];
    slots.give_back(id);
  });
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(slots.used(), 0U);
  slots.for_each([](SlotId) { FAIL() << "nothing is in use"; });
}

TEST(Slots, DoesWhatAListOfObjectsDoes) {
  // Random takes and give-backs are compared with a list of used ids and a list of freed ones.
  test::SeededRandom random(13);
  Slots<std::size_t> slots;
  std::vector<std::pair<SlotId, std::size_t>> used;
  std::vector<SlotId> gone;
  for (std::size_t step = 0; step < 3000; ++step) {
    if (used.empty() || random.one_in(2)) {
      const SlotId id = slots.take();
      slots[id] = step;
      used.emplace_back(id, step);
    } else {
      const std::size_t which = random.index(used.size());
      slots.give_back(used[which].first);
      gone.push_back(used[which].first);
      used.erase(used.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(slots.used(), used.size());
    if (!gone.empty()) {
      ASSERT_EQ(slots.find(gone[random.index(gone.size())]), nullptr);
    }
    if (used.empty()) continue;
    const auto& [id, value] = used[random.index(used.size())];
    ASSERT_NE(slots.find(id), nullptr);
    ASSERT_EQ(*slots.find(id), value);
    ASSERT_EQ(slots.at(id.index), id);
  }
}

}  // namespace
}  // namespace quorumlock::core
