#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "local/close_from.hpp"
#include "local/descriptor.hpp"

namespace quorumlock::local {

/// Ends this program's servers when it ends, however that happens: a separate process, forked at
/// the first use, that notices the end of a pipe. (PR_SET_PDEATHSIG would tie a server to the
/// thread that happened to start it.)
class Keeper {
 public:
  static Keeper& instance() {
    static Keeper keeper;
    return keeper;
  }

  /// Called in the server's own process before the exec, so that the server never runs unknown to
  /// the keeper. Async-signal-safe.
  void keep_me() const noexcept { tell(::getpid()); }
  void let_go(pid_t pid) const noexcept { tell(-pid); }

 private:
  Keeper() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_with_errno("cannot make a pipe");
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t between = ::fork();
    if (between == 0) {
      // The keeper is not the program's own child: the program may want to wait for all its
      // children.
      if (::fork() == 0) keep(ends[0]);
      ::_exit(0);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(ends[0]);
    pipe_ = ends[1];
    if (between < 0) fail_with_errno("cannot fork");
    while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  void tell(pid_t pid) const noexcept { (void)!::write(pipe_, &pid, sizeof pid); }

  // The following runs in the keeper's process, which may be forked from a program with many
  // threads: only system calls are safe.
  [[noreturn]] static void keep(int pipe) noexcept {
    ::setsid();
    ::dup2(pipe, 0);
    close_from(1);
    std::array<pid_t, 1024> kept{};
    pid_t told = 0;
    for (;;) {
      const ssize_t size = ::read(0, &told, sizeof told);
      if (size < 0 && errno == EINTR) continue;
      if (size != sizeof told) break;
      for (pid_t& place : kept) {
        if (place != (told > 0 ? 0 : -told)) continue;
        place = told > 0 ? told : 0;
        break;
      }
    }
    for (const pid_t pid : kept) {
      if (pid > 0) ::kill(pid, SIGKILL);
    }
    ::_exit(0);
  }

  int pipe_ = -1;
};

}  // namespace quorumlock::local
