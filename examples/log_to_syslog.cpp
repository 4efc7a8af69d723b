// Events of locks in the system's log, which journald reads, too.
//
//     log_to_syslog report          journalctl -t log_to_syslog
//
// The program locks once, so the log says when the lock was acquired and released, and how the
// nodes are.
#include <syslog.h>

#include <iostream>
#include <quorumlock/quorumlock.hpp>

namespace {

int priority_of(quorumlock::EventLevel level) {
  switch (level) {
    case quorumlock::EventLevel::info: return LOG_INFO;
    case quorumlock::EventLevel::warning: return LOG_WARNING;
    case quorumlock::EventLevel::error: break;
  }
  return LOG_ERR;
}

/// syslog() waits for the system's log if that is far behind, and renewals wait for this function:
/// a program whose locks have a short ttl hands its events to a thread of its own instead.
void to_syslog(const quorumlock::Event& event) {
  const std::string kind(to_string(event.kind));
  const std::string left_out =
      event.left_out == 0 ? "" : ", " + std::to_string(event.left_out) + " like it left out";
  // The texts are arguments and never the format, since a name may have a '%'.
  syslog(priority_of(event.level), "%s %s%s: %s%s", kind.c_str(), event.node.c_str(),
         event.resource.c_str(), event.reason.c_str(), left_out.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: log_to_syslog RESOURCE\n";
    return 64;
  }
  openlog("log_to_syslog", LOG_PID | LOG_PERROR, LOG_DAEMON);  // LOG_PERROR: and standard error

  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  options->on_event = to_syslog;
  auto coordinator = quorumlock::Coordinator::create(std::move(*options));
  if (!coordinator) {
    std::cerr << coordinator.error().what() << '\n';
    return 64;
  }
  if (auto lease = coordinator->acquire(argv[1]); !lease) {
    std::cerr << lease.error().what() << '\n';
    return 1;
  }
  coordinator->close();  // delivers the last events
  return 0;
}
