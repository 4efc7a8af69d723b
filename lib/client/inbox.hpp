#pragma once

#include <atomic>
#include <utility>

#include <quorumlock/error.hpp>

#include "uv/descriptor.hpp"

namespace quorumlock::client {

class Driver;

/// Something to be done on the loop. Owned by the inbox from push() until one of these is called,
/// which disposes of it.
class Task {
 public:
  virtual ~Task() = default;
  /// On the loop.
  virtual void run(Driver& driver) = 0;
  /// In place of run() where there is no loop any more, on whatever thread found that out.
  virtual void dismiss() = 0;

 private:
  friend class Inbox;
  Task* next_ = nullptr;
};

/// Tasks from any thread to the loop: a lock-free stack that the loop takes whole. Only the task
/// that finds it empty wakes the loop, so a burst costs one system call on either side.
class Inbox {
 public:
  Inbox();

  [[nodiscard]] bool empty() const { return head_.load(std::memory_order_relaxed) == nullptr; }
  /// False once closed; the task is then still the caller's.
  bool push(Task* task);
  /// Readable after a push, until take().
  [[nodiscard]] int fd() const { return event_.get(); }
  /// All tasks, in the order they came, each given to fn(Task*). On the loop.
  template <class F>
  void take(F&& fn) {
    drain_event();
    give(reversed(head_.exchange(nullptr, std::memory_order_acquire)), fn);
  }
  /// As take, and nothing is accepted from now on.
  template <class F>
  void close(F&& fn) {
    give(reversed(head_.exchange(closed(), std::memory_order_acquire)), fn);
  }

 private:
  static Task* closed() { return reinterpret_cast<Task*>(1); }
  static Task* reversed(Task* list);
  template <class F>
  static void give(Task* list, F&& fn) {
    while (list != nullptr && list != closed()) fn(std::exchange(list, list->next_));
  }
  void drain_event();

  std::atomic<Task*> head_{nullptr};
  uv::Descriptor event_;
};

}  // namespace quorumlock::client
