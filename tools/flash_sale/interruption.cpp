#include "interruption.hpp"

#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>

namespace flash_sale {
namespace {

constexpr int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
std::atomic<int> received = 0;
std::atomic<int> event = -1;

// Handlers are used instead of a blocked mask: exec resets them for a program that we start.
extern "C" void on_signal(int which) {
  const int before = errno;
  received = which;
  (void)::eventfd_write(event, 1);
  errno = before;
}

void set(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // does not disturb the servers' start and the table's printing
  for (const int which : endings) ::sigaction(which, &action, nullptr);
}

}  // namespace

Interruption::Interruption() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.open()) quorumlock::local::fail_with_errno("eventfd");
  event = event_.get();
  set(&on_signal);
}

Interruption::~Interruption() {
  set(SIG_DFL);
  event = -1;
}

void Interruption::check() const {
  if (const int which = received; which != 0) throw Interrupted(which);
}

}  // namespace flash_sale
