#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <quorumlock/lease.hpp>

#include "child.hpp"
#include "guard.hpp"
#include "notifier.hpp"
#include "signals.hpp"
#include "terminal.hpp"

namespace quorumlock::cli {

/// The times at which the command is asked to end and killed.
struct Deadlines {
  std::chrono::nanoseconds stop_margin{};  ///< SIGTERM is sent this long before the lease's end
  /// SIGKILL is sent this long after SIGTERM; if unset, when the lease ends.
  std::optional<std::chrono::nanoseconds> kill_after;

  [[nodiscard]] Clock::time_point kill_at(Clock::time_point valid_until) const {
    return kill_after ? valid_until - stop_margin + *kill_after : valid_until;
  }
};

/// Stands between the command, its lease, the signals and the terminal, and passes each event on to
/// those that it concerns.
class Supervisor {
 public:
  /// `on_ending` is called when the command has been asked to end because of its lease's end.
  Supervisor(const Lease& lease, const Deadlines& deadlines, Child& child, Guard& guard,
             const Terminal& terminal, Signals& signals, Notifier& manager,
             std::function<void()> on_ending)
      : lease_(lease),
        deadlines_(deadlines),
        child_(child),
        guard_(guard),
        terminal_(terminal),
        signals_(signals),
        manager_(manager),
        on_ending_(std::move(on_ending)) {}

  /// Starts the command. Throws Failure if a signal has asked us to end or the lease is over.
  void start();
  /// Waits for the command's end and returns the status of waitpid(). Throws Failure if it cannot
  /// wait; the command may run then.
  int run();
  /// Whether the command was ended because of its lease's end.
  [[nodiscard]] bool ended_it() const { return ending_; }
  /// Returns the last SIGINT, SIGTERM or SIGQUIT that was passed on to the command, or 0.
  [[nodiscard]] int asked_to_end() const { return asked_; }

 private:
  [[nodiscard]] bool too_late() const { return lease_.remaining() <= deadlines_.stop_margin; }
  /// Returns milliseconds, for poll().
  [[nodiscard]] int time_to_next_look() const;
  void on_signal(int signal);
  void on_news();
  /// As process 1 of a container we inherit what the command leaves behind. Takes what has ended,
  /// so that it does not stay a zombie.
  void reap_orphans();
  void on_stop(int signal);
  void on_continue();
  void end_it();

  const Lease& lease_;
  const Deadlines& deadlines_;
  Child& child_;
  Guard& guard_;
  const Terminal& terminal_;
  Signals& signals_;
  Notifier& manager_;
  const std::function<void()> on_ending_;
  bool ending_ = false;
  int asked_ = 0;
  std::optional<int> status_;
};

}  // namespace quorumlock::cli
