// Events of locks in spdlog, by a logger with a thread of its own.
//
//     log_to_spdlog report
//
// The program locks once, so the log says when the lock was acquired and released, and how the
// nodes are.
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <quorumlock/quorumlock.hpp>

namespace {

spdlog::level::level_enum level_of(quorumlock::EventLevel level) {
  switch (level) {
    case quorumlock::EventLevel::info: return spdlog::level::info;
    case quorumlock::EventLevel::warning: return spdlog::level::warn;
    case quorumlock::EventLevel::error: break;
  }
  return spdlog::level::err;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: log_to_spdlog RESOURCE\n";
    return 64;
  }
  // If its queue is full, the logger drops the oldest line: on_event must not wait.
  const auto log = spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>("locks");

  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  options->on_event = [log](const quorumlock::Event& event) {
    log->log(level_of(event.level), "{} node={} resource={} holder={} left_out={}: {}",
             to_string(event.kind), event.node, event.resource, event.holder, event.left_out,
             event.reason);
  };
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
  spdlog::shutdown();    // writes the last lines
  return 0;
}
