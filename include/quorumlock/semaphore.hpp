#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>

namespace quorumlock {

/// A number of permits on a quorum of nodes, with the face of std::counting_semaphore and of
/// std::timed_mutex: never more than `capacity` are held at once, by whatever processes.
///
/// A permit is a lease: renewed while it is held, gone with its holder after the ttl, and with a
/// fencing token that exceeds that of every permit of the resource that was got before it was asked
/// for. Each thread gives back its own, the last first, and may hold several. Who has no thread, or
/// wants a permit to change hands, takes it as a Lease (async_acquire, co_acquire), which is the
/// permit.
///
/// All who use one resource must say the same capacity; who says another while a permit is held is
/// told so (Errc::misconfigured). To change it, see to it that none is held: then whoever comes
/// first with the new number sets it. A semaphore and a lock of the same name have nothing to do
/// with each other. The coordinator must outlive it.
class Semaphore {
 public:
  /// The greatest capacity. A permit costs each node a key; one that is sought where all are held,
  /// a look at each of them.
  static constexpr std::ptrdiff_t max_capacity = 1024;
  static constexpr std::ptrdiff_t max() noexcept { return max_capacity; }

  /// A capacity out of range is Errc::invalid_argument when a permit is asked for.
  Semaphore(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
            LockOptions options = {});
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  /// Releases what threads still hold, in the background; permits taken as a Lease are their own.
  ~Semaphore();

  [[nodiscard]] std::ptrdiff_t capacity() const noexcept;

  /// Waits without limit, or for LockOptions::wait where that is set. Throws Error where it gets
  /// no permit.
  void acquire() { lock(); }
  /// Finds a permit where there is one, and does not wait. Throws Error only where none could be
  /// asked for (closed, bad arguments, another capacity).
  bool try_acquire() { return try_lock(); }
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(detail::saturated(patience));
  }
  template <class C, class D>
  bool try_acquire_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(detail::saturated(deadline - C::now()));
  }
  /// Gives back the permit that the calling thread has got last, and waits for a quorum to have
  /// taken it. Nothing where it has none: a permit of another thread's is that one's.
  void release() { unlock(); }

  // The same by the names that std::unique_lock and the like use.
  void lock();
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

  /// The permit that the calling thread has got last; throws Error(not_held) where it has none.
  Lease& lease();

  /// Waits as acquire() does, for a permit that belongs to nobody's thread. The handler runs on the
  /// loop, once, never inside the call.
  void async_acquire(std::stop_token stop, detail::Handler<Result<Lease>> handler);
  /// `Result<Lease> permit = co_await semaphore.co_acquire();`
  AcquireAwaitable co_acquire(std::stop_token stop = {});

 private:
  bool try_lock_within(std::chrono::nanoseconds patience);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorumlock
