#include "guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "failure.hpp"
#include "local/close_from.hpp"

namespace quorumlock::cli {
namespace {

using Nanoseconds = Clock::rep;  // counted from the machine's boot; the pipe carries these

Nanoseconds now() noexcept {
  return Clock::now().time_since_epoch().count();
}

void arm(int timer, Nanoseconds when) noexcept {
  itimerspec at{};
  when = std::max<Nanoseconds>(when, 1);  // 0 would disarm it
  at.it_value.tv_sec = static_cast<std::time_t>(when / 1'000'000'000);
  at.it_value.tv_nsec = static_cast<long>(when % 1'000'000'000);
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
}

/// Runs the guard's process. It was forked from a program with threads: only system calls are safe.
[[noreturn]] void stand_guard(pid_t group, Nanoseconds kill_at, int orders, int terminal,
                              pid_t home) noexcept {
  ::setpgid(0, group);
  ::prctl(PR_SET_NAME, "qlock-guard");
  ::dup2(orders, 0);
  int highest = 0;
  if (terminal >= 0) ::dup2(terminal, highest = 1);
  local::close_from(highest + 1);
  const int timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
  for (;;) {
    // Reads all orders first: if the guard was stopped, only the last one counts.
    Nanoseconds order = 0;
    ssize_t size = 0;
    while ((size = ::read(0, &order, sizeof order)) == sizeof order) kill_at = order;
    if (size == 0 || now() >= kill_at) break;
    arm(timer, kill_at);
    pollfd ready[] = {{0, POLLIN, 0}, {timer, POLLIN, 0}};
    // Without poll(), which a container's profile may forbid, it looks now and then.
    constexpr timespec nap{0, 10'000'000};
    if (::poll(ready, 2, -1) < 0) ::nanosleep(&nap, nullptr);
  }
  // The terminal must not stay with a group that no longer exists.
  if (terminal >= 0 && ::tcgetpgrp(1) == group) ::tcsetpgrp(1, home);
  ::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Guard::Guard(pid_t group, Clock::time_point when, const Terminal& terminal) : kill_at_(when) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Failure::system("cannot make a pipe");
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  if (pid_ == 0) {
    stand_guard(group, when.time_since_epoch().count(), ends[0], terminal.fd(), terminal.home());
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[0]);
  orders_ = ends[1];
  if (pid_ < 0) {
    ::close(orders_);
    errno = error;
    throw Failure::system("cannot fork");
  }
  ::setpgid(pid_, group);  // parent and child both do it, so it is done before either goes on
}

void Guard::kill_at(Clock::time_point when) {
  if (when == kill_at_) return;
  kill_at_ = when;
  const Nanoseconds order = when.time_since_epoch().count();
  (void)!::write(orders_, &order, sizeof order);
}

void Guard::strike() {
  if (orders_ < 0) return;
  ::close(std::exchange(orders_, -1));
  if (pid_ < 0) return;
  ::kill(pid_, SIGCONT);  // it may have been stopped with the group
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

bool Guard::has_gone() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

}  // namespace quorumlock::cli
