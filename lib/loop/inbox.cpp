#include "loop/inbox.hpp"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace quorumlock::detail {

Inbox::Inbox() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "cannot create an eventfd");
}

bool Inbox::push(Task* task) {
  Task* head = head_.load(std::memory_order_relaxed);
  do {
    if (head == shut()) return false;
    task->next_ = head;
  } while (!head_.compare_exchange_weak(head, task, std::memory_order_release,
                                        std::memory_order_relaxed));
  if (head == nullptr) {
    // The write fails only if the eventfd's counter is full, far beyond any burst.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }
  return true;
}

Task* Inbox::reversed(Task* list) {
  if (list == shut()) return nullptr;
  Task* in_order = nullptr;
  while (list != nullptr) {
    Task* next = list->next_;
    list->next_ = in_order;
    in_order = list;
    list = next;
  }
  return in_order;
}

void Inbox::drain_event() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(event_.get(), &count, sizeof count);
}

}  // namespace quorumlock::detail
