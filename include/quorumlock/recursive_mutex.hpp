#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>

namespace quorumlock {

/// Whom a lock belongs to where no thread says so: a coroutine, a chain of handlers, a request.
/// Copies are the same owner.
class LockOwner {
 public:
  /// Unlike every other of this process.
  LockOwner();
  auto operator<=>(const LockOwner&) const = default;

 private:
  std::uint64_t id_;
};

class LockAwaitable;

/// A lock on a quorum with the face of std::recursive_timed_mutex: its owner may lock it again.
///
/// The owner is the calling thread, or a LockOwner in the calls that take one. The first lock
/// acquires a lease, the last unlock releases it; in between nothing is sent but renewals. While
/// the owner holds a lease that was lost, to lock it again is Errc::lost: unlock it as often as it
/// was locked first. The coordinator must outlive it.
class RecursiveMutex {
 public:
  /// How often its owner can have it locked; once more is Errc::invalid_argument, and false from
  /// try_lock.
  static constexpr std::size_t max_depth = 65'535;

  RecursiveMutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;
  /// Releases what is still held, in the background. Locks under way end with Errc::closed.
  ~RecursiveMutex();

  /// Waits without limit, or for LockOptions::wait where that is set. Throws Error where it cannot
  /// lock.
  void lock();
  /// One attempt. Throws Error only where no attempt could be made (closed, bad arguments, a lease
  /// that was lost).
  bool try_lock();
  /// The last one releases, and waits for a quorum to have done so.
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
  /// How often the calling thread has it locked.
  [[nodiscard]] std::size_t depth() const;

  /// Waits as lock() does. The handler runs on the loop, once, never inside the call. What the same
  /// owner asks for while its first lock is still under way gets that one's result.
  void async_lock(LockOwner owner, std::stop_token stop, detail::Handler<Result<void>> handler);
  /// `Result<void> locked = co_await mutex.co_lock(owner);`
  LockAwaitable co_lock(LockOwner owner, std::stop_token stop = {});
  /// The handler runs on the loop once a quorum has released it; at once where it stays locked.
  /// Errc::not_held where the owner has not locked it.
  void async_unlock(LockOwner owner, detail::Handler<Result<void>> handler);
  Lease& lease(LockOwner owner);
  [[nodiscard]] std::size_t depth(LockOwner owner) const;

 private:
  friend class LockAwaitable;
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::shared_ptr<State> state_;
};

/// What co_lock gives; awaited once, at once.
class LockAwaitable {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller) {
    mutex_->async_lock(owner_, std::move(stop_), [this, caller](Result<void> result) {
      result_ = std::move(result);
      caller.resume();
    });
  }
  Result<void> await_resume() { return std::move(*result_); }

 private:
  friend class RecursiveMutex;
  LockAwaitable(RecursiveMutex& mutex, LockOwner owner, std::stop_token stop)
      : mutex_(&mutex), owner_(owner), stop_(std::move(stop)) {}

  RecursiveMutex* mutex_;
  LockOwner owner_;
  std::stop_token stop_;
  std::optional<Result<void>> result_;
};

}  // namespace quorumlock
