#include "core/timer_queue.hpp"

#include <algorithm>
#include <bit>

namespace quorumlock::core {

/// Level times 64, and the digit.
std::uint32_t TimerQueue::slot_of(Time when) const {
  const std::uint64_t tick = std::max(ticks(when), base_);
  const int top = 63 - std::countl_zero((tick ^ base_) | 1);
  const auto level = static_cast<std::uint32_t>(top / digit_bits);
  const auto digit = static_cast<std::uint32_t>(tick >> (level * digit_bits)) % slots;
  return level * slots + digit;
}

void TimerQueue::link(std::uint32_t id) {
  Timer& timer = timers_[id];
  const std::uint32_t slot = slot_of(timer.when);
  if (ticks(timer.when) < base_) ++past_;
  timer.before = none;
  timer.after = first_[slot];
  if (timer.after == none) {
    used_[slot / slots] |= std::uint64_t{1} << slot % slots;
    used_levels_ |= 1U << slot / slots;
    earliest_[slot] = timer.when;
  } else {
    timers_[timer.after].before = id;
    earliest_[slot] = std::min(earliest_[slot], timer.when);
  }
  first_[slot] = id;
}

void TimerQueue::unlink(std::uint32_t id) {
  const Timer timer = timers_[id];
  if (ticks(timer.when) < base_) --past_;
  if (timer.after != none) timers_[timer.after].before = timer.before;
  if (timer.before != none) {
    timers_[timer.before].after = timer.after;
    return;
  }
  const std::uint32_t slot = slot_of(timer.when);
  first_[slot] = timer.after;
  if (timer.after != none) return;
  used_[slot / slots] &= ~(std::uint64_t{1} << slot % slots);
  if (used_[slot / slots] == 0) used_levels_ &= ~(1U << slot / slots);
}

void TimerQueue::set(std::uint32_t id, Time when) {
  if (when == never) return clear(id);
  if (id >= timers_.size()) timers_.resize(id + 1);
  if (timers_[id].when == when) return;
  if (timers_[id].when != never) unlink(id);
  timers_[id].when = when;
  link(id);
}

void TimerQueue::clear(std::uint32_t id) {
  if (of(id) == never) return;
  unlink(id);
  timers_[id].when = never;
}

std::optional<std::uint32_t> TimerQueue::pop_first(Time now) {
  while (used_levels_ != 0) {
    const std::uint32_t slot = first_slot();
    if (earliest_[slot] > now) return std::nullopt;
    if (slot >= slots) {
      enter(slot, now);
      continue;
    }
    std::uint32_t due = first_[slot];
    // All of one time, but for those that were past when set.
    for (std::uint32_t id = due; past_ > 0 && id != none; id = timers_[id].after) {
      if (timers_[id].when < timers_[due].when) due = id;
    }
    earliest_[slot] = timers_[due].when;
    if (timers_[due].when > now) return std::nullopt;
    clear(due);
    return due;
  }
  return std::nullopt;
}

/// Time has come to this slot, the first: its timers move down, seen from the earliest of them.
void TimerQueue::enter(std::uint32_t slot, Time now) {
  std::uint32_t id = first_[slot];
  Time earliest = now;
  for (std::uint32_t each = id; each != none; each = timers_[each].after) {
    earliest = std::min(earliest, timers_[each].when);
  }
  first_[slot] = none;
  used_[slot / slots] &= ~(std::uint64_t{1} << slot % slots);
  if (used_[slot / slots] == 0) used_levels_ &= ~(1U << slot / slots);
  base_ = std::max(base_, ticks(earliest));
  while (id != none) {
    const std::uint32_t after = timers_[id].after;
    link(id);
    id = after;
  }
}

}  // namespace quorumlock::core
