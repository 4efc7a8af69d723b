#pragma once

#include <chrono>
#include <memory>
#include <mutex>  // for std::scoped_lock, std::unique_lock and the like
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>
#include <quorumlock/export.hpp>

namespace quorumlock {

/// A lock on a quorum of nodes with the interface of std::timed_mutex: Lockable and TimedLockable.
///
/// One object may be shared by many threads. Each lock() acquires a lease of its own, and the
/// thread that acquired it unlocks it: a thread whose lease was lost never releases its
/// successor's. Locking the mutex twice on one thread is Errc::would_deadlock. A lock that a thread
/// still has when it ends is released then, in the background, and the log reports it. The mutex
/// goes on working after its coordinator was moved, and throws Error(Errc::closed) once that is
/// closed or destroyed, and in a forked child.
class QUORUMLOCK_EXPORT Mutex {
 public:
  /// Asks no node. A bad resource or option is reported by the first lock().
  Mutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  /// Releases in the background every lock that a thread still has.
  ~Mutex();

  /// Waits without limit, or for LockOptions::wait if that is set, or until `stop` is requested.
  /// Throws Error if it cannot lock.
  void lock(std::stop_token stop = {});
  /// Makes one attempt. One case waits, in the line, for up to 1 s, so that std::lock makes
  /// progress whatever others do: the thread has locked other mutexes of this library, and the
  /// names of all of them sort before this one's. Throws Error only if no attempt could be made
  /// (closed, bad arguments).
  bool try_lock();
  /// Releases the calling thread's lease and waits until a quorum has done so. If the thread has
  /// other locks of the coordinator, this one is released in the background, and the last unlock
  /// waits. Throws no error: lease().stop_token() reports the loss of a lease while it is held.
  void unlock();

  /// Waits for up to `patience`, or until `deadline`. Returns false if it did not get the lock.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(detail::saturated_until(deadline));
  }

  /// The calling thread's lease. Throws Error(not_held) if the thread has none.
  Lease& lease();

  /// These wait as lock() does, from any thread, for a lock that belongs to the Lease and to no
  /// thread: `co_await held->co_release()` or the Lease's destructor releases it. Handlers and
  /// awaitables are those of Coordinator.
  void async_lock(std::stop_token stop, Handler<Result<Lease>> handler);
  void async_lock(Handler<Result<Lease>> handler) { async_lock({}, std::move(handler)); }
  AcquireAwaitable co_lock(std::stop_token stop = {});
  /// Releases the lease of the thread that calls this, or awaits it, as unlock() does. Here the
  /// result says whether that went well, as that of Lease::release() does; Errc::not_held if the
  /// thread has none.
  void async_unlock(Handler<Result<void>> handler);
  Awaitable<Result<void>> co_unlock();

 private:
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quorumlock
