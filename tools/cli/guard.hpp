#pragma once

#include <sys/types.h>

#include <quorumlock/clock.hpp>

#include "terminal.hpp"

namespace quorumlock::cli {

/// A process that kills a process group (SIGKILL, itself included) at a given time, or as soon as
/// this program has gone, however that came about. So the command cannot work on when this program
/// is killed, and not beyond its lease either when this program is stopped.
///
/// It is a member of the group: as long as it is there no other group can have the number. All
/// signals but SIGKILL and SIGSTOP leave it cold.
class Guard {
 public:
  /// Forks it off; the leader of the group must not have been waited for.
  Guard(pid_t group, Clock::time_point kill_at, const Terminal& terminal);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { strike(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill_at(Clock::time_point when);
  [[nodiscard]] Clock::time_point kills_at() const { return kill_at_; }
  /// Kills the group now, returns when that has been done.
  void strike();
  /// Whether somebody has killed it.
  bool has_gone();

 private:
  pid_t group_;
  Clock::time_point kill_at_;
  pid_t pid_ = -1;
  int orders_ = -1;
};

}  // namespace quorumlock::cli
