#pragma once

#include <atomic>
#include <utility>

#include <quorumlock/result.hpp>

#include "uv/descriptor.hpp"

namespace quorumlock::detail {

class Driver;

/// Work to be done on the loop. The inbox owns a task from push() until it calls run() or
/// dismiss(), which disposes of the task.
class Task {
 public:
  virtual ~Task() = default;
  /// Does the work, on the loop.
  virtual void run(Driver& driver) = 0;
  /// Called in place of run() if the loop is gone, on the thread that found that out.
  virtual void dismiss() = 0;

 private:
  friend class Inbox;
  Task* next_ = nullptr;
};

/// Tasks from any thread to the loop: a lock-free stack that the loop takes as a whole. Only a push
/// to an empty inbox wakes the loop, so a burst costs one system call on either side.
class Inbox {
 public:
  Inbox();

  [[nodiscard]] bool empty() const { return head_.load(std::memory_order_relaxed) == nullptr; }
  [[nodiscard]] bool closed() const { return head_.load(std::memory_order_relaxed) == shut(); }
  /// Returns false if the inbox is closed; the caller then still owns the task.
  bool push(Task* task);
  /// A descriptor that is readable after a push, until take().
  [[nodiscard]] int fd() const { return event_.get(); }
  /// Passes all tasks to fn(Task*), in the order in which they came. Only on the loop.
  template <class F>
  void take(F&& fn) {
    drain_event();
    give(reversed(head_.exchange(nullptr, std::memory_order_acquire)), fn);
  }
  /// Like take(), but the inbox accepts no tasks from now on.
  template <class F>
  void close(F&& fn) {
    give(reversed(head_.exchange(shut(), std::memory_order_acquire)), fn);
  }

 private:
  static Task* shut() { return reinterpret_cast<Task*>(1); }
  static Task* reversed(Task* list);
  template <class F>
  static void give(Task* list, F&& fn) {
    while (list != nullptr && list != shut()) fn(std::exchange(list, list->next_));
  }
  void drain_event();

  std::atomic<Task*> head_{nullptr};
  uv::Descriptor event_;
};

}  // namespace quorumlock::detail
