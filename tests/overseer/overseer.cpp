#include "overseer/overseer.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace quorumlock::test {
namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  ::_exit(70);
}

[[noreturn]] void end_like(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const rlimit no_second_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_second_core);
  ::signal(WTERMSIG(status), SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::raise(WTERMSIG(status));
  ::_exit(128 + WTERMSIG(status));
}

/// Kills all children until there are none. The children of a process that was killed become ours.
void end_all() {
  int ended = 0;
  do {
    std::ifstream children("/proc/thread-self/children");
    if (!children) fail("cannot read /proc/thread-self/children");
    bool any = false;
    for (pid_t pid = 0; children >> pid; any = true) ::kill(pid, SIGKILL);
    ended = ::waitpid(-1, nullptr, any ? 0 : WNOHANG);
  } while (ended >= 0 || errno == EINTR);
}

/// Returns the status with which the program has ended, or that of a killed one.
int await_end(pid_t program, const sigset_t& signals) {
  for (;;) {
    siginfo_t which{};
    if (::sigwaitinfo(&signals, &which) == SIGTERM) return SIGKILL;
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == program) return status;
    }
  }
}

}  // namespace

void oversee() {
  const pid_t above = ::getpid();
  ::signal(SIGCHLD, SIG_DFL);  // whoever ignores it cannot wait
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // it inherits what a killed overseer leaves
  const pid_t overseer = ::fork();
  if (overseer < 0) fail("cannot fork");
  if (overseer != 0) {
    // ctest sets this variable for its tests.
    if (std::getenv("CTEST_INTERACTIVE_DEBUG_MODE") != nullptr) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    int status = 0;
    while (::waitpid(overseer, &status, 0) < 0 && errno == EINTR) {
    }
    end_all();  // which leaves something to do only if the overseer was killed
    end_like(status);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != above) ::_exit(1);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t program = ::fork();
  if (program < 0) fail("cannot fork");
  if (program == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return;
  }
  // What kills the program's process group, or all processes of its name, does not reach the
  // overseer.
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "overseer");
  const int status = await_end(program, signals);
  end_all();
  end_like(status);
}

}  // namespace quorumlock::test
