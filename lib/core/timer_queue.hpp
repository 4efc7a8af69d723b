#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"

namespace quorumlock::core {

/// At most one deadline for each small integer, the earliest first: a hierarchical timing wheel
/// (Varghese and Lauck, 1987) whose tick is a nanosecond. Its costs do not grow with the number of
/// timers.
///
/// Level n has 256 slots of 8^n ticks each, beginning at the slot that contains `base_`. A timer is
/// on the lowest level that reaches as far as its deadline, so it is mostly 32 slots or more ahead.
/// When time reaches a slot, its timers move about three levels down. set, clear and next cost
/// O(1), and a timer moves about once for each digit of its deadline to the base of 256. The timers
/// that move together are due within about a thirty-second of the time that was ahead of them.
class TimerQueue {
 public:
  void set(std::uint32_t id, Time when);
  void clear(std::uint32_t id);
  /// The earliest deadline, or `never`. It may still be an earlier one that was cleared: pop_due()
  /// then finds nothing due, and the next call returns a later deadline.
  [[nodiscard]] Time next() const { return next_; }
  /// Returns false if pop_due() would find no timer due.
  [[nodiscard]] bool may_be_due(Time now) const { return now >= look_at_; }
  /// Takes out one timer whose deadline is not after `now`, the earliest first.
  std::optional<std::uint32_t> pop_due(Time now) {
    return may_be_due(now) ? look(now) : std::nullopt;
  }
  /// The deadline of this timer, or `never`.
  [[nodiscard]] Time of(std::uint32_t id) const {
    return id < timers_.size() ? timers_[id].when : never;
  }
  /// How many moves of a timer to a lower level there have been: the cost of pop_due() beyond O(1).
  [[nodiscard]] std::size_t moved() const { return moved_; }

 private:
  struct Timer {
    Time when = never;                          // `never` while the timer is not set
    std::uint32_t before = none, after = none;  // neighbours in its slot
    std::uint16_t slot = 0;
  };
  static constexpr std::uint32_t none = ~0U;
  static constexpr std::uint32_t slots = 256;
  static constexpr std::uint32_t slot_bits = 8, step_bits = 3;
  static constexpr std::uint32_t levels = 20;  // reach to 2^63
  static constexpr std::uint32_t words = slots / 64;

  [[nodiscard]] static std::uint64_t ticks(Time when) {
    const auto count = when.time_since_epoch().count();
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
  }
  [[nodiscard]] std::uint16_t slot_for(Time when) const;
  [[nodiscard]] std::uint32_t first_slot(std::uint32_t level) const;
  void find_next();
  std::optional<std::uint32_t> look(Time now);
  void link(std::uint32_t id);
  void unlink(std::uint32_t id);
  void take_down(std::uint32_t slot);
  void enter(std::uint32_t slot);

  std::vector<Timer> timers_;  // indexed by id
  std::uint64_t base_ = 0;     // not after any deadline, except those that were past when set
  std::uint32_t past_ = 0;     // the number of these; base_ does not move while there are some
  std::size_t moved_ = 0;
  Time next_ = never;
  std::uint32_t next_slot_ = 0;  // the slot that next_ is from
  Time look_at_{};               // pop_due() has nothing to do before this time
  // Level by level. The entries of unused slots are unset; their memory is not even touched.
  std::array<std::uint32_t, levels * slots> first_;
  /// The earliest deadline that was put into the slot, so none that is there is earlier.
  std::array<Time, levels * slots> earliest_;
  std::array<std::uint64_t, levels * words> used_{};  // slots with timers, a bit each
  std::uint32_t used_levels_ = 0;                     // levels with timers, a bit each
};

}  // namespace quorumlock::core
