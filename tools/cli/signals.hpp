#pragma once

#include <signal.h>

#include <optional>

namespace quorumlock::cli {

/// Writing to a pipe whose reader has gone is an error from now on, not this program's end.
void ignore_broken_pipes();

/// The signals that come to this process, one by one, in place of what they would do by themselves.
/// Made before any other thread is: threads inherit that they are blocked.
///
/// A signal that was ignored when the program began (nohup) is left to be so. SIGINT and SIGQUIT
/// are taken even then: shells without job control start what is put in the background like that,
/// and a signal that is sent to it by its number is meant.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  /// Readable when one has come.
  [[nodiscard]] int fd() const { return fd_; }
  /// The next one that has come, if one has.
  std::optional<int> next();
  /// The first of those that have come that asks us to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT); 0 if
  /// none does. Stops as Ctrl-Z asks; the others have nobody yet to be passed on to.
  int asked_to_end();

  /// Gives a forked child what this program was begun with. Async-signal-safe.
  void restore_in_child() const noexcept;

 private:
  sigset_t taken_{};
  sigset_t mask_before_{};
  int fd_ = -1;
};

/// Stops as the signal would have done (SIGTSTP, SIGTTIN, SIGTTOU): the whole process group, or
/// just this process. Returns when continued; or at once, false, where nobody is there to continue
/// it (an orphaned process group is not stopped).
bool stop_by(int signal, bool whole_group);

}  // namespace quorumlock::cli
