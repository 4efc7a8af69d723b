#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/operations.hpp"
#include "loop/this_thread.hpp"

namespace quorumlock::detail {

/// The leases of a mutex with the standard library's interface: one for each of the threads that
/// have locked it. Only the thread that has a lease gives it back: a thread whose lease was lost
/// never releases its successor's. If the thread ends before that, its lease is released. Always
/// owned by a shared_ptr.
class ThreadLeases : public ThreadBound, public std::enable_shared_from_this<ThreadLeases> {
 public:
  ThreadLeases(Coordinator& coordinator, std::string resource, LockOptions options)
      : router_(CoordinatorParts::router(coordinator)),
        resource_(std::move(resource)),
        options_(options) {}

  /// Locks for the calling thread. Waits without limit, or for LockOptions::wait if that is set.
  /// Throws Error if it cannot lock; the error is would_deadlock if the thread has the lock
  /// already.
  void lock(LockMode mode, std::stop_token stop);
  /// Returns false if others have the lock or too few nodes answered. Throws Error if no attempt
  /// could be made.
  bool try_lock(LockMode mode, std::chrono::nanoseconds patience);
  /// Releases the calling thread's lease of this mode, if there is one. Waits for that unless the
  /// thread has other leases of the coordinator: then the release of the last one waits.
  void unlock(LockMode mode);
  /// The calling thread's lease, of one mode or of any. Throws Error(not_held) if there is none.
  Lease& lease(std::optional<LockMode> mode = std::nullopt);
  /// Marks the calling thread's lease as one of this mode.
  void convert(LockMode mode);
  /// Releases the lease of the thread that awaits this.
  Awaitable<Result<void>> co_unlock(LockMode mode);
  /// Waits for a lease that belongs to no thread.
  AcquireAwaitable co_lock(LockMode mode, std::stop_token stop);

  void thread_ends(ThreadNumber thread) override;
  [[nodiscard]] std::string_view mutex_of() const override { return resource_; }
  [[nodiscard]] const Router* router_of() const override { return router_.get(); }

 private:
  struct Owned {
    Lease lease;
    LockMode mode;
  };
  /// Sets the mode in `options`, or returns an error if they have another mode.
  static Result<void> set_mode(LockOptions& options, LockMode mode);
  Result<void> take(LockMode mode, LockOptions options, std::stop_token stop);
  /// Takes the calling thread's lease of this mode out, if there is one.
  std::optional<Lease> take_out(LockMode mode);
  [[nodiscard]] Error nothing_held(const char* what, std::optional<LockMode> mode) const;
  /// Whether another thread has a lease that does not allow one of this mode.
  bool held_by_another(LockMode mode);

  const SharedRouter router_;  ///< its coordinator may be moved
  const std::string resource_;
  const LockOptions options_;
  const ForkWatch fork_;  ///< in a forked child the guard may be locked for ever
  std::mutex guard_;
  std::map<ThreadNumber, Owned> held_;
};

}  // namespace quorumlock::detail
