#include "core/timer_queue.hpp"

#include <algorithm>
#include <bit>

namespace quorumlock::core {

/// The slot for this deadline on the lowest level that has it among its next 256 slots.
std::uint16_t TimerQueue::slot_for(Time when) const {
  const std::uint64_t tick = std::max(ticks(when), base_);
  const auto width = static_cast<std::uint32_t>(std::bit_width(tick - base_));
  std::uint32_t level = width <= slot_bits ? 0 : (width - slot_bits + step_bits - 1) / step_bits;
  std::uint32_t shift = level * step_bits;
  if ((tick >> shift) - (base_ >> shift) >= slots) {
    ++level;
    shift += step_bits;
  }
  return static_cast<std::uint16_t>(level * slots + (tick >> shift) % slots);
}

/// The level's first slot that is in use; there must be one.
std::uint32_t TimerQueue::first_slot(std::uint32_t level) const {
  const auto begin = static_cast<std::uint32_t>(base_ >> level * step_bits) % slots;
  const std::uint64_t from_there = ~std::uint64_t{0} << begin % 64;
  std::uint32_t word = begin / 64;
  std::uint64_t used = used_[level * words + word] & from_there;
  while (used == 0) {
    word = (word + 1) % words;
    used = used_[level * words + word];
  }
  return level * slots + word * 64 + static_cast<std::uint32_t>(std::countr_zero(used));
}

void TimerQueue::find_next() {
  next_ = never;
  for (std::uint32_t left = used_levels_; left != 0; left &= left - 1) {
    const std::uint32_t slot = first_slot(static_cast<std::uint32_t>(std::countr_zero(left)));
    if (earliest_[slot] >= next_) continue;
    next_ = earliest_[slot];
    next_slot_ = slot;
  }
}

void TimerQueue::link(std::uint32_t id) {
  Timer& timer = timers_[id];
  const std::uint16_t slot = slot_for(timer.when);
  if (ticks(timer.when) < base_) ++past_;
  std::uint64_t& used = used_[slot / 64];
  const std::uint64_t bit = std::uint64_t{1} << slot % 64;
  timer.slot = slot;
  timer.before = none;
  if ((used & bit) == 0) {
    used |= bit;
    used_levels_ |= 1U << slot / slots;
    earliest_[slot] = timer.when;
    timer.after = none;
  } else {
    timer.after = first_[slot];
    timers_[timer.after].before = id;
    earliest_[slot] = std::min(earliest_[slot], timer.when);
  }
  first_[slot] = id;
  if (timer.when < next_) {
    next_ = timer.when;
    next_slot_ = slot;
    look_at_ = std::min(look_at_, next_);
  }
}

void TimerQueue::unlink(std::uint32_t id) {
  const Timer timer = timers_[id];
  if (ticks(timer.when) < base_) --past_;
  if (timer.after != none) timers_[timer.after].before = timer.before;
  if (timer.before != none) {
    timers_[timer.before].after = timer.after;
  } else if (timer.after != none) {
    first_[timer.slot] = timer.after;
  } else {
    take_down(timer.slot);
    if (timer.slot == next_slot_) find_next();
  }
}

/// Marks the slot as not in use.
void TimerQueue::take_down(std::uint32_t slot) {
  used_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
  const std::uint32_t level = slot / slots;
  std::uint64_t used = 0;
  for (std::uint32_t word = 0; word < words; ++word) used |= used_[level * words + word];
  if (used == 0) used_levels_ &= ~(1U << level);
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

std::optional<std::uint32_t> TimerQueue::look(Time now) {
  while (next_ <= now && next_ != never) {
    if (next_slot_ >= slots) {
      enter(next_slot_);
      find_next();
      continue;
    }
    std::uint32_t due = first_[next_slot_];
    // All timers of a slot of level 0 have one deadline, except those that were past when set.
    for (std::uint32_t id = due; past_ > 0 && id != none; id = timers_[id].after) {
      if (timers_[id].when < timers_[due].when) due = id;
    }
    if (timers_[due].when == next_) {
      clear(due);
      return due;
    }
    earliest_[next_slot_] = timers_[due].when;
    find_next();
  }
  // The nearer base_ is to the coming deadlines, the less often their timers move.
  if (past_ == 0) base_ = std::max(base_, ticks(now));
  look_at_ = std::min(next_, later(now, std::chrono::milliseconds(16)));
  return std::nullopt;
}

/// Moves the timers of this slot down to lower levels: it has the earliest of all deadlines.
void TimerQueue::enter(std::uint32_t slot) {
  std::uint32_t id = first_[slot];
  base_ = std::max(base_, ticks(earliest_[slot]));
  take_down(slot);
  while (id != none) {
    const std::uint32_t after = timers_[id].after;
    link(id);
    ++moved_;
    id = after;
  }
}

}  // namespace quorumlock::core
