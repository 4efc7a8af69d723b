#pragma once

#include <sys/types.h>

#include <quorumlock/clock.hpp>

#include "terminal.hpp"

namespace quorumlock::cli {

/// A process that kills a process group (SIGKILL, itself included) at a given time, or as soon as
/// this program is gone for whatever reason. So the command cannot go on after this program is
/// killed, nor beyond its lease if this program is stopped.
///
/// The guard is a member of the group: while it exists no other group can get the number. It
/// ignores all signals but SIGKILL and SIGSTOP.
class Guard {
 public:
  /// Forks the guard; the leader of the group must not have been waited for.
  Guard(pid_t group, Clock::time_point kill_at, const Terminal& terminal);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { strike(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill_at(Clock::time_point when);
  [[nodiscard]] Clock::time_point kills_at() const { return kill_at_; }
  /// Kills the group and returns when that is done.
  void strike();
  /// Whether another process has killed the guard.
  bool has_gone();

 private:
  Clock::time_point kill_at_;
  pid_t pid_ = -1;
  int orders_ = -1;
};

}  // namespace quorumlock::cli
