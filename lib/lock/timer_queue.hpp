#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lock/types.hpp"

namespace quorumlock::core {

/// At most one deadline for each small integer, the earliest first; of equal deadlines, that of the
/// smallest integer. A heap in which each integer knows its place: set and clear cost O(log n).
class TimerQueue {
 public:
  void set(std::uint32_t id, Time when);
  void clear(std::uint32_t id);
  /// The earliest deadline, or `never`.
  [[nodiscard]] Time next() const { return heap_.empty() ? never : heap_.front().when; }
  /// Takes out the first timer if its deadline is not after `now`.
  std::optional<std::uint32_t> pop_due(Time now);

 private:
  struct Timer {
    Time when;
    std::uint32_t id;
    [[nodiscard]] bool is_before(const Timer& other) const {
      return when != other.when ? when < other.when : id < other.id;
    }
  };
  /// How many children each place of the heap has. With four, a path has half as many places as
  /// with two, and the children are next to each other in memory.
  static constexpr std::uint32_t width = 4;
  static constexpr std::uint32_t nowhere = ~0U;

  void put(std::uint32_t place, Timer timer);
  void lay(std::uint32_t place, Timer timer) {
    heap_[place] = timer;
    places_[timer.id] = place;
  }

  std::vector<Timer> heap_;            // no timer is before its parent
  std::vector<std::uint32_t> places_;  // in heap_, indexed by id
};

}  // namespace quorumlock::core
