#pragma once

#include <signal.h>

#include <optional>

namespace quorumlock::cli {

/// From now on writing to a pipe without a reader is an error, and does not end this program.
void ignore_broken_pipes();

/// Receives this process's signals one by one, in place of their default actions. Must be made
/// before any other thread, since threads inherit the blocked mask; but after the configuration is
/// read, since a file may block (a pipe, a server that is away), and a signal should end that.
///
/// A signal that was ignored at the program's start (nohup) stays ignored. SIGINT and SIGQUIT are
/// taken even then: shells without job control start background jobs with these ignored, and one
/// that is sent to the process by number is meant for it.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  /// The descriptor is readable when a signal has come.
  [[nodiscard]] int fd() const { return fd_; }
  /// Returns the next signal that has come, if any.
  std::optional<int> next();
  /// Reads all signals that have come and returns the first that asks us to end (SIGINT, SIGTERM,
  /// SIGHUP, SIGQUIT), or 0. Stops on Ctrl-Z; drops the others, as there is no command yet.
  int asked_to_end();

  /// Restores this program's original signal state in a forked child. Async-signal-safe.
  void restore_in_child() const noexcept;

 private:
  sigset_t taken_{};
  sigset_t mask_before_{};
  int fd_ = -1;
};

/// Stops the whole process group, or just this process, as the signal (SIGTSTP, SIGTTIN, SIGTTOU)
/// would have done. Returns true when continued, or false at once if nobody could continue it (an
/// orphaned process group is not stopped).
bool stop_by(int signal, bool whole_group);

}  // namespace quorumlock::cli
