#pragma once

#include <chrono>
#include <memory>
#include <shared_mutex>  // std::shared_lock is what it is for
#include <string>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/patience.hpp>

namespace quorumlock {

/// A read-write lock on a quorum with the face of std::shared_timed_mutex: SharedTimedMutex.
///
/// Many read together, one writes alone. Nobody starves: readers who come after a writer that
/// waits in the line wait behind it. Each thread has a lease of its own and unlocks it itself.
/// Locking it twice on one thread is Errc::would_deadlock; so is lock() where the thread has it to
/// read: two readers who both wanted to write would wait for each other for ever. The coordinator
/// must outlive it.
class SharedMutex {
 public:
  /// LockOptions::mode is to be left unset: each function says its own.
  SharedMutex(Coordinator& coordinator, std::string resource, LockOptions options = {});
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;
  /// Releases what is still held, in the background.
  ~SharedMutex();

  /// To write. Waits without limit, or for LockOptions::wait where that is set. Throws Error where
  /// it cannot lock.
  void lock();
  /// One attempt. Throws Error only where no attempt could be made (closed, bad arguments).
  bool try_lock();
  /// Releases the calling thread's lease and waits for a quorum to have done so. No error is
  /// thrown: a lease that was lost is told by lease().stop_token() while it is held.
  void unlock();

  /// The same, to read.
  void lock_shared();
  bool try_lock_shared();
  void unlock_shared();

  /// The calling thread's lock to write becomes one to read, and nobody else writes in between
  /// (Lease::downgrade): from here on it is given back by unlock_shared(). Throws Error where that
  /// failed; it is a lock to read then too.
  void downgrade();

  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(LockMode::exclusive, detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(LockMode::exclusive, detail::saturated(deadline - C::now()));
  }
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_within(LockMode::shared, detail::saturated(patience));
  }
  template <class C, class D>
  bool try_lock_shared_until(const std::chrono::time_point<C, D>& deadline) {
    return try_lock_within(LockMode::shared, detail::saturated(deadline - C::now()));
  }

  /// The calling thread's lease, to read or to write; throws Error(not_held) where it has none.
  Lease& lease();

 private:
  bool try_lock_within(LockMode mode, std::chrono::nanoseconds patience);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quorumlock
