#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <quorumlock/clock.hpp>

#include "signals.hpp"

namespace quorumlock::cli {

/// What a child is to become.
struct Program {
  std::string path;
  std::vector<std::string> words;        ///< its name as it was given, and its arguments
  std::vector<std::string> environment;  ///< NAME=value
};

/// The command's process, leader of a process group of its own. It is forked off early and waits
/// with becoming the command until it is told to go: so its group can be put under guard first.
class Child {
 public:
  /// Why it never became the command.
  enum class Stillborn { no, exec_failed, too_late };

  Child(const Program& program, const Signals& signals);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills its group, if it has not been waited for.
  ~Child();

  /// Its process, and its group.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Becomes the command, unless this time has come before it gets to that.
  void go(Clock::time_point not_after);
  /// Sends a signal to the whole group.
  void signal(int number) const;

  /// What waitpid() says, where it has stopped or ended since the last call.
  std::optional<int> news();
  /// Once it has ended: whether it had become the command, and if not, what errno was.
  Stillborn stillborn();
  [[nodiscard]] int exec_error() const { return exec_error_; }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int go_ = -1;      ///< we write to it
  int report_ = -1;  ///< it writes to it; closed by the exec
  int exec_error_ = 0;
};

}  // namespace quorumlock::cli
