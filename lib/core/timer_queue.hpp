#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/types.hpp"

namespace quorumlock::core {

/// At most one deadline for each small integer, the earliest first, for a million of them as for
/// one: a hierarchical timing wheel (Varghese and Lauck, 1987) whose tick is a nanosecond.
///
/// A deadline that differs from `base_` in its n-th digit to the base of 64, and in none above, is
/// in one of the 64 slots of level n. As time comes to a slot its timers move to the levels below.
/// set and next cost O(1), clear too; a timer moves at most once for each level, however many there
/// are.
class TimerQueue {
 public:
  TimerQueue() { first_.fill(none); }

  void set(std::uint32_t id, Time when);
  void clear(std::uint32_t id);
  /// The earliest deadline, or `never`. Where an earlier one was cleared it may still be that:
  /// pop_due() then finds nothing due, and the next call tells a later one.
  [[nodiscard]] Time next() const { return used_levels_ == 0 ? never : earliest_[first_slot()]; }
  /// Takes out one timer whose deadline is not after `now`, the earliest first.
  std::optional<std::uint32_t> pop_due(Time now) {
    return next() > now ? std::nullopt : pop_first(now);
  }
  /// The deadline of this one, or `never`.
  [[nodiscard]] Time of(std::uint32_t id) const {
    return id < timers_.size() ? timers_[id].when : never;
  }

 private:
  struct Timer {
    Time when = never;  // while it is not set
    std::uint32_t before = none, after = none;  // in its slot
  };
  static constexpr std::uint32_t none = ~0U;
  static constexpr int digit_bits = 6;
  static constexpr std::uint32_t slots = 1U << digit_bits;
  static constexpr int levels = 11;  // of 63 bits

  [[nodiscard]] static std::uint64_t ticks(Time when) {
    const auto count = when.time_since_epoch().count();
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
  }
  [[nodiscard]] std::uint32_t slot_of(Time when) const;
  /// All before it have none. The queue is not empty.
  [[nodiscard]] std::uint32_t first_slot() const {
    const int level = std::countr_zero(used_levels_);
    const int digit = std::countr_zero(used_[static_cast<std::size_t>(level)]);
    return static_cast<std::uint32_t>(level) * slots + static_cast<std::uint32_t>(digit);
  }
  std::optional<std::uint32_t> pop_first(Time now);
  void link(std::uint32_t id);
  void unlink(std::uint32_t id);
  void enter(std::uint32_t slot, Time now);

  std::vector<Timer> timers_;  // by id
  std::uint64_t base_ = 0;     // not after any deadline, but for those that were past when set
  std::uint32_t past_ = 0;     // how many of these; base_ stays while there are some
  std::array<std::uint32_t, levels * slots> first_;
  /// Of each slot in use, not after any deadline in it; the earliest that was put there.
  std::array<Time, levels * slots> earliest_{};
  std::array<std::uint64_t, levels> used_{};  // slots with timers, a bit each
  std::uint32_t used_levels_ = 0;             // likewise
};

}  // namespace quorumlock::core
