#include "lock/timer_queue.hpp"

#include <algorithm>
#include <utility>

namespace quorumlock::core {

void TimerQueue::set(std::uint32_t id, Time when) {
  if (when == never) return clear(id);
  if (id >= places_.size()) places_.resize(id + 1, nowhere);
  std::uint32_t place = places_[id];
  if (place == nowhere) {
    place = static_cast<std::uint32_t>(heap_.size());
    heap_.emplace_back();
  }
  put(place, {when, id});
}

void TimerQueue::clear(std::uint32_t id) {
  if (id >= places_.size() || places_[id] == nowhere) return;
  const std::uint32_t place = std::exchange(places_[id], nowhere);
  const Timer last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) put(place, last);
}

std::optional<std::uint32_t> TimerQueue::pop_due(Time now) {
  if (heap_.empty() || heap_.front().when > now) return std::nullopt;
  const std::uint32_t id = heap_.front().id;
  clear(id);
  return id;
}

/// Puts the timer into the heap, at this free place or where its deadline belongs above or below.
void TimerQueue::put(std::uint32_t place, Timer timer) {
  while (place > 0 && timer.is_before(heap_[(place - 1) / width])) {
    lay(place, heap_[(place - 1) / width]);
    place = (place - 1) / width;
  }
  const auto size = static_cast<std::uint32_t>(heap_.size());
  while (place * width + 1 < size) {
    std::uint32_t first = place * width + 1;
    const std::uint32_t end = std::min(first + width, size);
    for (std::uint32_t child = first + 1; child < end; ++child) {
      if (heap_[child].is_before(heap_[first])) first = child;
    }
    if (!heap_[first].is_before(timer)) break;
    lay(place, heap_[first]);
    place = first;
  }
  lay(place, timer);
}

}  // namespace quorumlock::core
