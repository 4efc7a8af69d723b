#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <quorumlock/coordinator.hpp>

namespace quorumlock::client {

/// The leases of a mutex of the standard library's kind: one each of the threads that have it,
/// which are the ones to give them back. A thread whose lease was lost never releases its
/// successor's.
class ThreadLeases {
 public:
  ThreadLeases(Coordinator& coordinator, std::string resource, LockOptions options)
      : coordinator_(coordinator), resource_(std::move(resource)), options_(options) {}

  /// For the calling thread. Waits without limit, or for LockOptions::wait where that is set.
  /// Throws Error where it cannot lock, would_deadlock where the thread has it already.
  void lock(LockMode mode);
  /// False where others have it. Throws Error where no attempt could be made.
  bool try_lock(LockMode mode, std::chrono::nanoseconds patience);
  /// Releases the calling thread's lease of this mode, if there is one, and waits for that.
  void unlock(LockMode mode);
  /// The calling thread's, of one mode or of any; throws Error(not_held) where it has none.
  Lease& lease(std::optional<LockMode> mode = std::nullopt);
  /// The calling thread's lease is of this mode from now on.
  void convert(LockMode mode);

 private:
  struct Held {
    Lease lease;
    LockMode mode;
  };
  Result<void> take(LockMode mode, LockOptions options);

  Coordinator& coordinator_;
  const std::string resource_;
  const LockOptions options_;
  std::mutex guard_;
  std::map<std::thread::id, Held> held_;
};

}  // namespace quorumlock::client
