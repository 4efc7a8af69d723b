#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>
#include <quorumlock/export.hpp>

namespace quorumlock {

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
