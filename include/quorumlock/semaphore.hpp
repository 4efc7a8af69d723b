#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/detail/patience.hpp>

namespace quorumlock {

/// A number of permits on a quorum of nodes, with the interfaces of std::counting_semaphore and
/// std::timed_mutex: all processes together never hold more than `capacity` at once.
///
/// A permit is a lease: it is renewed while it is held, and it runs out after the ttl if its holder
/// dies. Its fencing token exceeds the token of every permit of the resource that was granted
/// before this one was asked for. A thread may hold several permits and gives back its own, the
/// last one first. Permits that a thread still has when it ends are released then, in the
/// background, and the log reports it. Take a permit as a Lease (Coordinator::acquire_permit(), or
/// async_acquire() and co_acquire() here) if it is to belong to no thread, or to change hands.
///
/// All users of one resource must give the same capacity; a request with another capacity while a
/// permit is held fails with Errc::misconfigured. To change the capacity, wait until no permit is
/// held: the first request with the new number then sets it. A semaphore and a lock of the same
/// name are independent. The semaphore goes on working after its coordinator was moved, and throws
/// Error(Errc::closed) once that is closed or destroyed.
class QUORUMLOCK_EXPORT Semaphore {
 public:
  /// The greatest capacity. Each permit costs each node a key; a request while all permits are held
  /// costs each node a look at each of these keys.
  static constexpr std::ptrdiff_t max_capacity = 1024;
  static constexpr std::ptrdiff_t(max)() noexcept { return max_capacity; }

  /// A capacity out of range is reported as Errc::invalid_argument when a permit is asked for.
  Semaphore(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
            LockOptions options = {});
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  /// Releases in the background every permit that a thread still has. Permits that were taken as a
  /// Lease stay held.
  ~Semaphore();

  /// The number of permits that the constructor was given.
  [[nodiscard]] std::ptrdiff_t capacity() const noexcept;

  /// Waits without limit, or for LockOptions::wait if that is set, or until `stop` is requested.
  /// Throws Error if no permit was granted.
  void acquire(std::stop_token stop = {}) { lock(std::move(stop)); }
  /// Takes a permit if one is free, and does not wait. Throws Error only if no permit could be
  /// asked for (closed, bad arguments, another capacity).
  bool try_acquire() { return try_lock(); }
  /// Waits for up to `patience`, or until `deadline`. Returns false if no permit was granted.
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(detail::saturated(patience));
  }
  template <class C, class D>
  bool try_acquire_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(detail::saturated_until(deadline));
  }
  /// Gives back the permit that the calling thread got last, and waits until a quorum has released
  /// it. Does nothing if the thread has none: a thread cannot give back another thread's permit.
  void release() { unlock(); }

  /// These are the same functions under the names that std::unique_lock and std::scoped_lock use.
  void lock(std::stop_token stop = {});
  bool try_lock();
  void unlock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_acquire_for(patience);
  }
  template <class C, class D>
  bool try_lock_until(const std::chrono::time_point<C, D>& deadline) {
    return try_acquire_until(deadline);
  }

  /// The permit that the calling thread got last. Throws Error(not_held) if the thread has none.
  Lease& lease();

  /// These wait as acquire() does, from any thread, for a permit that belongs to the Lease and to
  /// no thread. Handlers and awaitables are those of Coordinator.
  void async_acquire(std::stop_token stop, Handler<Result<Lease>> handler);
  void async_acquire(Handler<Result<Lease>> handler) { async_acquire({}, std::move(handler)); }
  AcquireAwaitable co_acquire(std::stop_token stop = {});
  /// These give back the permit that the thread which calls or awaits them got last, as release()
  /// does. The result is Errc::not_held if that thread has none.
  void async_release(Handler<Result<void>> handler);
  Awaitable<Result<void>> co_release();
  /// The same under the other names.
  void async_lock(std::stop_token stop, Handler<Result<Lease>> handler) {
    async_acquire(std::move(stop), std::move(handler));
  }
  void async_lock(Handler<Result<Lease>> handler) { async_acquire({}, std::move(handler)); }
  AcquireAwaitable co_lock(std::stop_token stop = {}) { return co_acquire(std::move(stop)); }
  void async_unlock(Handler<Result<void>> handler) { async_release(std::move(handler)); }
  Awaitable<Result<void>> co_unlock() { return co_release(); }

 private:
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace quorumlock
