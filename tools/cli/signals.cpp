#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

/// Signals that nobody sends from outside, that cannot be caught, or that mean something else.
constexpr int not_taken[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,   SIGFPE,  SIGILL,
                             SIGTRAP, SIGABRT, SIGSYS,  SIGPIPE,  SIGTTIN, SIGTTOU,
                             SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM};

struct sigaction broken_pipe_before {};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void set_default(int signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void ignore_broken_pipes() {
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &broken_pipe_before);
}

Signals::Signals() {
  // If SIGCHLD were ignored a child's end could not be waited for.
  for (const int signal : {SIGINT, SIGQUIT, SIGCHLD}) set_default(signal);
  sigfillset(&taken_);
  for (const int signal : not_taken) sigdelset(&taken_, signal);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (ignored(signal)) sigdelset(&taken_, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &taken_, &mask_before_);
  fd_ = ::signalfd(-1, &taken_, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw Failure::system("cannot listen to signals");
}

Signals::~Signals() {
  ::close(fd_);
}

std::optional<int> Signals::next() {
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof info) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return static_cast<int>(info.ssi_signo);
}

int Signals::asked_to_end() {
  int asked = 0;
  while (const std::optional<int> signal = next()) {
    if (*signal == SIGTSTP) stop_by(SIGTSTP, false);  // Ctrl-Z stops the whole job
    const bool ends =
        *signal == SIGINT || *signal == SIGTERM || *signal == SIGHUP || *signal == SIGQUIT;
    if (ends && (asked == 0 || asked == SIGHUP)) asked = *signal;
  }
  return asked;
}

void Signals::restore_in_child() const noexcept {
  ::sigaction(SIGPIPE, &broken_pipe_before, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

bool stop_by(int signal, bool whole_group) {
  ::kill(whole_group ? 0 : ::getpid(), signal);
  sigset_t just_this;
  sigemptyset(&just_this);
  sigaddset(&just_this, signal);
  // The signal has been pending for this thread to unblock it; all others block it.
  sigset_t before;
  ::pthread_sigmask(SIG_UNBLOCK, &just_this, &before);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // The SIGCONT that continued us is pending.
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

}  // namespace quorumlock::cli
