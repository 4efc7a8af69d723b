#pragma once

#include <chrono>
#include <optional>

#include <quorumlock/lease.hpp>

#include "child.hpp"
#include "guard.hpp"
#include "signals.hpp"
#include "terminal.hpp"

namespace quorumlock::cli {

/// When the command is asked to end, and when it is killed.
struct Deadlines {
  std::chrono::nanoseconds stop_margin{};  ///< SIGTERM so long before the lease's end
  /// SIGKILL so long after SIGTERM; unset: when the lease ends.
  std::optional<std::chrono::nanoseconds> kill_after;

  [[nodiscard]] Clock::time_point kill_at(Clock::time_point valid_until) const {
    return kill_after ? valid_until - stop_margin + *kill_after : valid_until;
  }
};

/// Between the command, its lease, the signals that come for it and the terminal: passes on what
/// comes to whom it concerns.
class Supervisor {
 public:
  Supervisor(const Lease& lease, const Deadlines& deadlines, Child& child, Guard& guard,
             const Terminal& terminal, Signals& signals)
      : lease_(lease),
        deadlines_(deadlines),
        child_(child),
        guard_(guard),
        terminal_(terminal),
        signals_(signals) {}

  /// Starts the command and returns once it has ended, with what waitpid() says of it. Throws
  /// Failure, and starts nothing, where a signal has asked us to end or the lease is not there any
  /// more.
  int run();
  /// Whether the command was ended because its lease was ending.
  [[nodiscard]] bool ended_it() const { return ending_; }

 private:
  void start();
  [[nodiscard]] bool too_late() const { return lease_.remaining() <= deadlines_.stop_margin; }
  /// In milliseconds, for poll().
  [[nodiscard]] int time_to_next_look() const;
  void on_signal(int signal);
  void on_news();
  void on_stop(int signal);
  void on_continue();
  void end_it();

  const Lease& lease_;
  const Deadlines& deadlines_;
  Child& child_;
  Guard& guard_;
  const Terminal& terminal_;
  Signals& signals_;
  bool ending_ = false;
  std::optional<int> status_;
};

}  // namespace quorumlock::cli
