#pragma once

#include <sys/types.h>
#include <termios.h>

namespace quorumlock::cli {

/// The terminal that controls this session, if there is one, and which process group is in its
/// foreground: reads from it, gets its Ctrl-C and Ctrl-Z.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  [[nodiscard]] int fd() const { return fd_; }
  /// Our own process group.
  [[nodiscard]] pid_t home() const { return home_; }
  /// Whether our own group is in the foreground.
  [[nodiscard]] bool is_ours() const { return foreground() == home_; }
  [[nodiscard]] bool belongs_to(pid_t group) const { return foreground() == group; }
  /// Whether the command is to have it from the start: it is our standard input, and no other
  /// program in a pipeline behind us may want it, as a pager would. A command that turns out to
  /// need it gets it all the same.
  [[nodiscard]] bool is_for_the_command() const;

  /// Puts a group into the foreground.
  void give_to(pid_t group) const;
  /// Puts ours there again, if `group` is there.
  void take_back_from(pid_t group) const;
  /// Undoes changes to its modes, such as of an editor that was killed.
  void restore_modes() const;

 private:
  [[nodiscard]] pid_t foreground() const;

  int fd_;
  pid_t home_;
  termios modes_{};
};

}  // namespace quorumlock::cli
