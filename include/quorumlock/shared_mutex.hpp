#pragma once

#include <chrono>
#include <memory>
#include <shared_mutex>  // for std::shared_lock
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>
#include <quorumlock/export.hpp>

namespace quorumlock {

/// A read-write lock on a quorum of nodes with the interface of std::shared_timed_mutex:
/// SharedTimedMutex.
///
/// Many readers hold it together, or one writer alone. Nobody starves: readers that arrive after a
/// waiting writer wait in the line until that writer has had the lock. Each thread has a lease of
/// its own and unlocks it itself. Locking the mutex twice on one thread is Errc::would_deadlock,
/// and so is lock() on a thread that has it for reading: two such readers would wait for each other
/// for ever. A lock that a thread still has when it ends is released then, in the background, and
/// the log reports it. The mutex goes on working after its coordinator was moved, and throws
/// Error(Errc::closed) once that is closed or destroyed, and in a forked child.
class QUORUMLOCK_EXPORT SharedMutex {
 public:
  /// Leave LockOptions::mode unset: each function sets its own.
  SharedMutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  /// Releases in the background every lock that a thread still has.
  ~SharedMutex();

  /// Locks for writing. Waits without limit, or for LockOptions::wait if that is set, or until
  /// `stop` is requested. Throws Error if it cannot lock.
  void lock(std::stop_token stop = {});
  /// Makes one attempt or a short wait, as Mutex::try_lock() does. Throws Error only if no attempt
  /// could be made (closed, bad arguments).
  bool try_lock();
  /// Releases the calling thread's write lock and waits until a quorum has done so, as
  /// Mutex::unlock() does. Throws no error: lease().stop_token() reports the loss of a lease while
  /// it is held.
  void unlock();

  /// The same for reading.
  void lock_shared(std::stop_token stop = {});
  bool try_lock_shared();
  void unlock_shared();

  /// Turns the calling thread's write lock into a read lock, and nobody else writes in between
  /// (Lease::downgrade). From then on unlock_shared() releases it. Throws Error if that failed; the
  /// lock is a read lock then too.
  void downgrade();

  /// Waits for up to `patience`, or until `deadline`. Returns false if it did not get the lock.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(LockMode::exclusive, detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(LockMode::exclusive, detail::saturated_until(deadline));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(LockMode::shared, detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_shared_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(LockMode::shared, detail::saturated_until(deadline));
  }

  /// The calling thread's lease, for reading or writing. Throws Error(not_held) if the thread has
  /// none.
  Lease& lease();

  /// These wait as lock() and lock_shared() do, from any thread, for a lock that belongs to the
  /// Lease and to no thread. Handlers and awaitables are those of Coordinator.
  void async_lock(std::stop_token stop, Handler<Result<Lease>> handler);
  void async_lock(Handler<Result<Lease>> handler) { async_lock({}, std::move(handler)); }
  AcquireAwaitable co_lock(std::stop_token stop = {});
  void async_lock_shared(std::stop_token stop, Handler<Result<Lease>> handler);
  void async_lock_shared(Handler<Result<Lease>> handler) {
    async_lock_shared({}, std::move(handler));
  }
  AcquireAwaitable co_lock_shared(std::stop_token stop = {});
  /// These release the lease of the thread that calls or awaits them, as Mutex::async_unlock()
  /// does.
  void async_unlock(Handler<Result<void>> handler);
  Awaitable<Result<void>> co_unlock();
  void async_unlock_shared(Handler<Result<void>> handler);
  Awaitable<Result<void>> co_unlock_shared();

 private:
  bool try_lock_within(LockMode mode, std::chrono::nanoseconds patience);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quorumlock
