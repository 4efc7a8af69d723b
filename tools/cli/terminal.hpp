#pragma once

#include <sys/types.h>
#include <termios.h>

namespace quorumlock::cli {

/// The controlling terminal of this session, if any, and its foreground process group, which reads
/// from it and gets its Ctrl-C and Ctrl-Z.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] int fd() const { return fd_; }
  /// Returns our own process group.
  [[nodiscard]] pid_t home() const { return home_; }
  /// Whether our own group is in the foreground.
  [[nodiscard]] bool is_ours() const { return foreground() == home_; }
  [[nodiscard]] bool belongs_to(pid_t group) const { return foreground() == group; }
  /// Whether the command gets the terminal from the start: the terminal is our standard input, and
  /// no other program in our pipeline, such as a pager, may want it. A command that needs the
  /// terminal later still gets it.
  [[nodiscard]] bool is_for_the_command() const;

  /// Puts the group into the foreground.
  void give_to(pid_t group) const;
  /// Puts our group back into the foreground if `group` is there.
  void take_back_from(pid_t group) const;
  /// Undoes changes to the terminal's modes, such as by an editor that was killed.
  void restore_modes() const;

 private:
  [[nodiscard]] pid_t foreground() const;

  int fd_;
  pid_t home_;
  termios modes_{};
};

}  // namespace quorumlock::cli
