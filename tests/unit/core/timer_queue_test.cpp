#include "core/timer_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

/// The simplest model of a TimerQueue.
class SlowTimerQueue {
 public:
  void set(std::uint32_t id, Time when) {
    clear(id);
    if (when != never) timers_.emplace(when, id);
  }
  void clear(std::uint32_t id) {
    std::erase_if(timers_, [id](const auto& timer) { return timer.second == id; });
  }
  [[nodiscard]] Time next() const { return timers_.empty() ? never : timers_.begin()->first; }
  /// Returns true if this timer is one of those that may come out next.
  [[nodiscard]] bool may_pop(std::uint32_t id) const {
    const auto [first, last] = timers_.equal_range(next());
    return std::any_of(first, last, [id](const auto& timer) { return timer.second == id; });
  }

 private:
  std::multimap<Time, std::uint32_t> timers_;
};

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

TEST(TimerQueue, LooksAgainIfTheEarliestWasCleared) {
  // The deadline of a cleared timer may stay until it has passed, with nothing due.
  TimerQueue queue;
  queue.set(0, Time(Duration(5'000)));
  queue.set(1, Time(Duration(5'001)));
  queue.clear(0);
  EXPECT_LE(queue.next(), Time(Duration(5'001)));
  EXPECT_EQ(queue.pop_due(Time(Duration(5'000))), std::nullopt);
  EXPECT_EQ(queue.next(), Time(Duration(5'001)));
}

TEST(TimerQueue, DoesWhatAMultimapDoes) {
  // Random settings, moves and removals, with many equal deadlines, are compared with a
  // std::multimap. Time sometimes goes back, which no clock of ours does.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    test::SeededRandom random(seed);
    TimerQueue queue;
    SlowTimerQueue model;
    const int ids = random.between(1, 40);
    // A small scale puts all deadlines into one slot, a large one spreads them over the levels.
    const int scale = random.between(0, 40);
    const auto any_time = [&] {
      return Time(Duration(static_cast<Clock::rep>(random.between(0, 100)) << scale));
    };
    for (int step = 0; step < 400; ++step) {
      const auto id = static_cast<std::uint32_t>(random.between(0, ids - 1));
      switch (random.between(0, 5)) {
        case 0: {
          queue.clear(id);
          model.clear(id);
          break;
        }
        case 1: {
          const Time now = any_time();
          const std::optional<std::uint32_t> due = queue.pop_due(now);
          ASSERT_EQ(due.has_value(), model.next() <= now);
          if (!due) break;
          ASSERT_TRUE(model.may_pop(*due));
          model.clear(*due);
          break;
        }
        default: {
          const Time when = random.one_in(20) ? never : any_time();
          queue.set(id, when);
          model.set(id, when);
        }
      }
      for (Time next = queue.next(); next < model.next(); next = queue.next()) {
        ASSERT_EQ(queue.pop_due(next), std::nullopt) << "step " << step;
        ASSERT_LT(next, queue.next()) << "step " << step;
      }
      ASSERT_EQ(queue.next(), model.next()) << "step " << step;
    }
  }
}

TEST(TimerQueue, AMillionDoNotMoveAtOnce) {
  // The timers are of leases of a minute, spread over the five seconds in which they are renewed:
  // in a long series of moments of 8 ms each, none has to move more timers than its share.
  constexpr std::uint32_t timers = 200'000;
  test::SeededRandom random(1);
  TimerQueue queue;
  Time now(Duration(std::chrono::seconds(1000)));
  const auto later_by = [&](int least, int most) {
    return now + std::chrono::milliseconds(random.between(least, most));
  };
  EXPECT_EQ(queue.pop_due(now), std::nullopt);
  for (std::uint32_t id = 0; id < timers; ++id) queue.set(id, later_by(0, 20'000));
  for (int moment = 0; moment < 10'000; ++moment) {
    now += std::chrono::milliseconds(8);
    const std::size_t moved = queue.moved();
    while (const auto due = queue.pop_due(now)) queue.set(*due, later_by(15'000, 20'000));
    ASSERT_LT(queue.moved() - moved, timers / 32) << "moment " << moment;
  }
}

}  // namespace
}  // namespace quorumlock::core
