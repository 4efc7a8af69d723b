#include "terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quorumlock::cli {
namespace {

/// Blocks SIGTTOU. A background process that changes the terminal would otherwise be stopped.
class WithoutSigttou {
 public:
  WithoutSigttou() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  WithoutSigttou(const WithoutSigttou&) = delete;
  WithoutSigttou& operator=(const WithoutSigttou&) = delete;
  ~WithoutSigttou() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

Terminal::Terminal() : fd_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)), home_(::getpgrp()) {
  if (fd_ >= 0) ::tcgetattr(fd_, &modes_);
}

Terminal::~Terminal() {
  if (fd_ >= 0) ::close(fd_);
}

bool Terminal::is_for_the_command() const {
  return is_ours() && ::isatty(STDIN_FILENO) == 1 && !is_pipe(STDOUT_FILENO);
}

void Terminal::give_to(pid_t group) const {
  const WithoutSigttou blocked;
  if (fd_ >= 0) ::tcsetpgrp(fd_, group);
}

void Terminal::take_back_from(pid_t group) const {
  if (belongs_to(group)) give_to(home_);
}

void Terminal::restore_modes() const {
  const WithoutSigttou blocked;
  if (is_ours()) ::tcsetattr(fd_, TCSADRAIN, &modes_);
}

pid_t Terminal::foreground() const {
  return fd_ >= 0 ? ::tcgetpgrp(fd_) : -1;
}

}  // namespace quorumlock::cli
