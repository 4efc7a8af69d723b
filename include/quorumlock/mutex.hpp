#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/detail/patience.hpp>

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

/// The owner of a lock that belongs to no thread, such as a coroutine, a chain of handlers or a
/// request. Copies are the same owner.
class QUORUMLOCK_EXPORT LockOwner {
 public:
  /// Makes an owner that differs from every other owner in this process.
  LockOwner();
  auto operator<=>(const LockOwner&) const = default;

 private:
  std::uint64_t id_;
};

/// The awaitable that co_lock() and co_unlock() return.
using LockAwaitable = Awaitable<Result<void>>;

/// A lock on a quorum of nodes with the interface of std::recursive_timed_mutex: its owner may lock
/// it again.
///
/// The owner is the calling thread, or a LockOwner in the calls that take one. The first lock
/// acquires a lease and the last unlock releases it; in between only renewals are sent. If the
/// lease was lost, locking the mutex again is Errc::lost until its owner has unlocked it as often
/// as it had locked it. A lock that a thread still has when it ends is released then, in the
/// background, and the log reports it. The mutex goes on working after its coordinator was moved,
/// and throws Error(Errc::closed) once that is closed or destroyed, and in a forked child.
class QUORUMLOCK_EXPORT RecursiveMutex {
 public:
  /// The greatest depth. One more lock() is Errc::invalid_argument, one more try_lock() returns
  /// false.
  static constexpr std::size_t max_depth = 65'535;

  /// The constructor asks no node: the first lock() reports a bad resource or option.
  RecursiveMutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;
  /// Releases in the background every lock that an owner still has. Locks under way end with
  /// Errc::closed.
  ~RecursiveMutex();

  /// Waits without limit, or for LockOptions::wait if that is set, or until `stop` is requested.
  /// Throws Error if it cannot lock.
  void lock(std::stop_token stop = {});
  /// Makes one attempt or a short wait, as Mutex::try_lock() does. Throws Error only if no attempt
  /// could be made (closed, bad arguments, a lease that was lost).
  bool try_lock();
  /// Undoes one lock. The last unlock releases the lease and waits until a quorum has released it.
  void unlock();

  /// Waits for up to `patience`, or until `deadline`. Returns false if the lock was not acquired.
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
  /// How many times the calling thread has locked the mutex without unlocking it.
  [[nodiscard]] std::size_t depth() const;

  /// These lock for an owner that is no thread, from any thread. Further locks by the same owner
  /// while its first one is under way get the result of that first one. The blocking form throws as
  /// lock() does; handlers and awaitables are those of Coordinator.
  void lock(LockOwner owner, std::stop_token stop = {});
  void async_lock(LockOwner owner, std::stop_token stop, Handler<Result<void>> handler);
  void async_lock(LockOwner owner, Handler<Result<void>> handler) {
    async_lock(owner, {}, std::move(handler));
  }
  LockAwaitable co_lock(LockOwner owner, std::stop_token stop = {});
  /// These undo one lock of that owner. They end once a quorum has released the lease; if the owner
  /// still has the mutex locked, no node is asked. The result is Errc::not_held if the owner has
  /// not locked the mutex; the blocking form throws no error, as unlock().
  void unlock(LockOwner owner);
  void async_unlock(LockOwner owner, Handler<Result<void>> handler);
  LockAwaitable co_unlock(LockOwner owner);
  /// These are lease() and depth() for this owner instead of the calling thread.
  Lease& lease(LockOwner owner);
  [[nodiscard]] std::size_t depth(LockOwner owner) const;

 private:
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quorumlock
