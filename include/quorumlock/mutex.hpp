#pragma once

#include <chrono>
#include <memory>
#include <mutex>  // std::scoped_lock, std::unique_lock and the like are what it is for
#include <string>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>

namespace quorumlock {

/// A lock on a quorum with the face of std::timed_mutex: Lockable and TimedLockable.
///
/// One object may be shared by many threads. Each lock() takes a lease of its own and the thread
/// that took it unlocks it: a thread whose lease was lost meanwhile never releases its
/// successor's. Locking it twice on one thread is Errc::would_deadlock. The coordinator must
/// outlive it.
class Mutex {
 public:
  Mutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  /// Releases what is still held, in the background.
  ~Mutex();

  /// Waits without limit, or for LockOptions::wait where that is set. Throws Error where it cannot
  /// lock.
  void lock();
  /// One attempt. Throws Error only where no attempt could be made (closed, bad arguments).
  bool try_lock();
  /// Releases the calling thread's lease and waits for a quorum to have done so. No error is
  /// thrown: a lease that was lost is told by lease().stop_token() while it is held.
  void unlock();

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(detail::saturated(deadline - C::now()));
  }

  /// The calling thread's lease; throws Error(not_held) where it has none.
  Lease& lease();

 private:
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorumlock
