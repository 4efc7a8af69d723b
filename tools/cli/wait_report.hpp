#pragma once

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

namespace quorumlock::cli {

/// Says on standard error whom a command waits for: once, if it has waited for a second.
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
  void end() { over_ = true; }

 private:
  void say();
  /// Who has the resource, such as "held by web-3:812 for 12 s"; empty if nobody is known to.
  std::string holders_of(const std::string& resource);

  Coordinator& coordinator_;
  const std::vector<std::string> resources_;
  const bool permits_;
  const std::string what_;
  Clock::time_point ask_at_;
  std::atomic<bool> said_ = false;
  std::atomic<bool> over_ = false;
  std::future<void> asking_;  ///< the last member: its thread uses the others
};

}  // namespace quorumlock::cli
