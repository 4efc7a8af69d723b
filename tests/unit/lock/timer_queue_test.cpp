#include "lock/timer_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

TEST(TimerQueue, EmptyHasNothingDue) {
  // No timer is set, so none is due; clearing a missing timer changes nothing.
  TimerQueue queue;
  EXPECT_EQ(queue.next(), never);
  EXPECT_EQ(queue.pop_due(never), std::nullopt);
  queue.clear(3);
  EXPECT_EQ(queue.next(), never);
}

TEST(TimerQueue, DueIsNotLaterThanNow) {
  // A timer comes out exactly at its deadline, and not a nanosecond before.
  TimerQueue queue;
  queue.set(2, Time(Duration(100)));
  EXPECT_EQ(queue.pop_due(Time(Duration(99))), std::nullopt);
  EXPECT_EQ(queue.pop_due(Time(Duration(100))), std::optional<std::uint32_t>(2));
  EXPECT_EQ(queue.next(), never);
}

TEST(TimerQueue, SetMovesATimer) {
  // There is one deadline for each number: the last one set. `never` removes it.
  TimerQueue queue;
  queue.set(0, Time(Duration(50)));
  queue.set(1, Time(Duration(60)));
  queue.set(0, Time(Duration(70)));
  EXPECT_EQ(queue.next(), Time(Duration(60)));
  queue.set(0, Time(Duration(10)));
  EXPECT_EQ(queue.next(), Time(Duration(10)));
  queue.set(0, never);
  EXPECT_EQ(queue.pop_due(Time(Duration(100))), std::optional<std::uint32_t>(1));
  EXPECT_EQ(queue.pop_due(Time(Duration(100))), std::nullopt);
}

TEST(TimerQueue, ClearingTheEarliestMakesTheNextOneTheEarliest) {
  // Nothing is left of a timer that was cleared.
  TimerQueue queue;
  queue.set(0, Time(Duration(5'000)));
  queue.set(1, Time(Duration(5'001)));
  queue.clear(0);
  EXPECT_EQ(queue.next(), Time(Duration(5'001)));
  EXPECT_EQ(queue.pop_due(Time(Duration(5'000))), std::nullopt);
  EXPECT_EQ(queue.pop_due(Time(Duration(5'001))), std::optional<std::uint32_t>(1));
}

TEST(TimerQueue, OfEqualDeadlinesTheSmallestNumberComesFirst) {
  // The order in which they were set, and how they came to have the same deadline, do not matter.
  TimerQueue queue;
  const Time when(Duration(100));
  for (const std::uint32_t id : {4U, 1U, 3U, 0U, 5U}) queue.set(id, when);
  queue.set(2, Time(Duration(200)));
  queue.set(2, when);
  for (std::uint32_t id = 0; id < 6; ++id) {
    EXPECT_EQ(queue.pop_due(when), std::optional<std::uint32_t>(id));
  }
}

TEST(TimerQueue, DoesWhatAnOrderedSetDoes) {
  // Random settings, moves and removals, with many equal deadlines, are compared with a std::set.
  // Time sometimes goes back, which no clock of ours does.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    test::SeededRandom random(seed);
    TimerQueue queue;
    std::set<std::pair<Time, std::uint32_t>> model;
    std::map<std::uint32_t, Time> times;
    const int ids = random.between(1, 200);
    const int range = random.between(1, 1000);
    const auto forget = [&](std::uint32_t id) {
      const auto found = times.find(id);
      if (found == times.end()) return;
      model.erase({found->second, id});
      times.erase(found);
    };
    for (int step = 0; step < 1000; ++step) {
      const auto id = static_cast<std::uint32_t>(random.between(0, ids - 1));
      const Time when(Duration(random.between(0, range)));
      switch (random.between(0, 5)) {
        case 0: {
          queue.clear(id);
          forget(id);
          break;
        }
        case 1: {
          const bool is_due = !model.empty() && model.begin()->first <= when;
          const std::optional<std::uint32_t> due = queue.pop_due(when);
          ASSERT_EQ(due, is_due ? std::optional(model.begin()->second) : std::nullopt);
          if (due) forget(*due);
          break;
        }
        default: {
          const bool no_more = random.one_in(20);
          queue.set(id, no_more ? never : when);
          forget(id);
          if (no_more) break;
          model.emplace(when, id);
          times[id] = when;
        }
      }
      ASSERT_EQ(queue.next(), model.empty() ? never : model.begin()->first) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace quorumlock::core
