#include "supervisor.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stop_token>

#include "event.hpp"
#include "failure.hpp"
#include "meanwhile.hpp"

namespace quorumlock::cli {

int Supervisor::run() {
  Event ending;
  const std::stop_callback ring(lease_.stop_token(), [&ending] { ending.set(); });
  while (!status_) {
    if (!ending_) guard_.kill_at(deadlines_.kill_at(lease_.valid_until()));
    pollfd ready[] = {{signals_.fd(), POLLIN, 0}, {ending_ ? -1 : ending.fd(), POLLIN, 0}};
    await_ready(ready, sooner(time_to_next_look(), manager_.keep_alive()));
    // The command's end is handled first: if it ended in time, we did not end it.
    while (const std::optional<int> signal = signals_.next()) on_signal(*signal);
    if (!status_ && (ready[1].revents & POLLIN) != 0) end_it();
  }
  return *status_;
}

void Supervisor::start() {
  if (const int signal = signals_.asked_to_end(); signal != 0) {
    throw Failure::interrupted(signal, "before the command was started: nothing is held");
  }
  if (too_late()) {
    throw Failure(ExitCode::not_to_be_had, "lost",
                  "the lock was lost before the command was started: it was not started");
  }
  if (terminal_.is_for_the_command()) terminal_.give_to(child_.pid());
  child_.go(lease_.valid_until() - deadlines_.stop_margin);
}

// The guard must learn of a renewal before the end that it knows.
int Supervisor::time_to_next_look() const {
  if (ending_) return -1;
  const auto look = std::chrono::ceil<std::chrono::milliseconds>(lease_.remaining() / 4);
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(look.count(), 5, 60'000));
}

void Supervisor::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD: return on_news();
    case SIGCONT: return on_continue();
    case SIGINT:
    case SIGTERM:
    case SIGQUIT: asked_ = signal; break;
    default: break;
  }
  child_.signal(signal);
}

void Supervisor::on_news() {
  while (const std::optional<int> status = child_.news()) {
    if (WIFSTOPPED(*status)) {
      on_stop(WSTOPSIG(*status));
    } else {
      status_ = status;
    }
  }
  // Without its guard the command could outlive us.
  if (!status_ && guard_.has_gone()) child_.signal(SIGKILL);
  reap_orphans();
}

void Supervisor::reap_orphans() {
  if (::getpid() != 1) return;
  // The command and the guard are awaited by their own objects, which look at them again.
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0 ||
        ended.si_pid == child_.pid() || ended.si_pid == guard_.pid()) {
      return;
    }
    ::waitpid(ended.si_pid, nullptr, 0);
  }
}

void Supervisor::on_stop(int signal) {
  if (ending_) return child_.signal(SIGCONT);  // it has to handle a SIGTERM
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.is_ours()) {
    terminal_.give_to(child_.pid());
    return child_.signal(SIGCONT);
  }
  // We stop too, as if the command were the shell's own job: the stop is meant for all of us.
  const bool had_terminal = terminal_.belongs_to(child_.pid());
  terminal_.take_back_from(child_.pid());
  const bool stopped = stop_by(wants_terminal ? signal : SIGTSTP, had_terminal);
  // On a terminal without a shell that could continue us Ctrl-Z must not stop the command for good.
  if (!stopped && had_terminal) on_continue();
}

/// Handles the shell's fg or bg. While we were stopped the lease was not renewed.
void Supervisor::on_continue() {
  if (too_late()) return end_it();
  if (terminal_.is_for_the_command()) terminal_.give_to(child_.pid());
  child_.signal(SIGCONT);
}

void Supervisor::end_it() {
  if (ending_) return;
  ending_ = true;
  const Clock::time_point now = Clock::now();
  const Clock::time_point lease_end = lease_.is_valid() ? lease_.valid_until() : now;
  const Clock::time_point kill_at =
      deadlines_.kill_after ? now + *deadlines_.kill_after : lease_end;
  child_.signal(SIGTERM);
  if (kill_at > now) child_.signal(SIGCONT);  // a stopped command could not react
  guard_.kill_at(kill_at);
  on_ending_();
}

}  // namespace quorumlock::cli
