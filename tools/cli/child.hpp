#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <quorumlock/clock.hpp>

#include "signals.hpp"

namespace quorumlock::cli {

/// The program that a child is to run.
struct Program {
  std::string path;
  std::vector<std::string> words;        ///< its name as it was given, and its arguments
  std::vector<std::string> environment;  ///< NAME=value
};

/// The command's process, leader of its own process group. It is forked early and waits for go()
/// before it runs the command, so that a guard can be set over its group first.
class Child {
 public:
  /// Why the process never became the command.
  enum class StartFailure { none, exec_failed, too_late };

  Child(const Program& program, const Signals& signals);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills the group unless the child has been waited for.
  ~Child();

  /// Returns the id of the process, which is also that of its group.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Lets the process become the command, unless it gets to that only at or after `not_after`.
  void go(Clock::time_point not_after);
  /// Sends a signal to the whole group.
  void signal(int number) const;

  /// Returns the status from waitpid() if the process has stopped or ended since the last call.
  std::optional<int> news();
  /// Returns, after the process's end, why it never became the command; exec_error() is the errno.
  StartFailure start_failure();
  [[nodiscard]] int exec_error() const { return exec_error_; }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int go_ = -1;      ///< we write to it
  int report_ = -1;  ///< the child writes to it; the exec closes it
  int exec_error_ = 0;
};

}  // namespace quorumlock::cli
