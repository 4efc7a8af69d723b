#include "core/timer_queue.hpp"

namespace quorumlock::core {

void TimerQueue::place(std::size_t position, Entry entry) {
  heap_[position] = entry;
  position_[entry.id] = static_cast<std::uint32_t>(position);
}

void TimerQueue::sift_up(std::size_t position, Entry entry) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (heap_[parent].when <= entry.when) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

void TimerQueue::sift_down(std::size_t position, Entry entry) {
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].when < heap_[child].when) ++child;
    if (entry.when <= heap_[child].when) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, entry);
}

void TimerQueue::set(std::uint32_t id, Time when) {
  if (when == never) return clear(id);
  if (id >= position_.size()) position_.resize(id + 1, absent);
  const std::uint32_t position = position_[id];
  const Entry entry{when, id};
  if (position == absent) {
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
  } else if (when < heap_[position].when) {
    sift_up(position, entry);
  } else {
    sift_down(position, entry);
  }
}

void TimerQueue::clear(std::uint32_t id) {
  if (id >= position_.size() || position_[id] == absent) return;
  const std::size_t position = position_[id];
  position_[id] = absent;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.id == id) return;
  if (position > 0 && last.when < heap_[(position - 1) / 2].when) {
    sift_up(position, last);
  } else {
    sift_down(position, last);
  }
}

}  // namespace quorumlock::core
