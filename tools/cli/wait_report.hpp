#pragma once

#include <memory>
#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

namespace quorumlock::cli {

/// Says on standard error whom a command waits for: once, if it has waited for a second. Also says
/// once if too few nodes answer.
class WaitReport {
 public:
  /// `what` is what the command waits for, such as "the lock on orders"; `permits`: a permit of the
  /// resource. The coordinator must outlive this.
  WaitReport(Coordinator& coordinator, std::vector<std::string> resources, bool permits,
             std::string what);
  WaitReport(const WaitReport&) = delete;
  WaitReport& operator=(const WaitReport&) = delete;
  ~WaitReport() { end(); }

  /// To be called while the command waits, and again after as many milliseconds as it returns; -1:
  /// not again.
  int advance();
  /// The wait is over: nothing is said any more.
  void end();

 private:
  struct Look;

  Coordinator& coordinator_;
  const std::shared_ptr<Look> look_;  ///< nobody waits for its answers, so they have it, too
  Clock::time_point ask_at_;
};

}  // namespace quorumlock::cli
