// A worker whose locks Prometheus watches, by prometheus-cpp.
//
//     export_metrics 127.0.0.1:9464 order-1 order-2
//
// Prints the address of its metrics, works on each order under a lock, and exports the metrics
// until it is asked to end.
#include <prometheus/exposer.h>
#include <signal.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <quorumlock/prometheus.hpp>
#include <quorumlock/quorumlock.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: export_metrics HOST:PORT ORDER... (port 0: any free one)\n";
    return 64;
  }
  // These signals are blocked before there are other threads, which must not receive them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  auto coordinator = quorumlock::Coordinator::create(std::move(*options));
  if (!coordinator) {
    std::cerr << coordinator.error().what() << '\n';
    return 64;
  }

  // The exposer asks this object at each scrape and does not own it. The object uses the
  // coordinator, so it is made after the coordinator and destroyed before it.
  const auto locks = std::make_shared<quorumlock::PrometheusCollectable>(
      *coordinator, quorumlock::PrometheusSettings{.labels = {{"service", "worker"}}});
  prometheus::Exposer exposer(argv[1]);
  exposer.RegisterCollectable(locks);
  std::cout << "metrics on port " << exposer.GetListeningPorts().front() << std::endl;

  for (int order = 2; order < argc; ++order) {
    const auto done = coordinator->with_lock(argv[order], {.wait = 10s}, [](quorumlock::Lease&) {
      // The work goes here.
    });
    std::cout << argv[order] << ": " << (done ? "done" : done.error().what()) << std::endl;
  }
  int ended_by = 0;
  sigwait(&ends, &ended_by);
  return 0;
}
