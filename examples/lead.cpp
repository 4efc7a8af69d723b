// A leader among servers: one leads, the others wait in order, and the next one leads when it
// resigns, is ended, or dies.
//
//     lead SERVICE
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <quorumlock/quorumlock.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: lead SERVICE\n";
    return 64;
  }
  // SIGTERM and SIGINT go to the thread below, which turns them into a request to stop.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::stop_source ending;
  std::thread(
      [signals](std::stop_source end) {
        int number = 0;
        sigwait(&signals, &number);
        end.request_stop();
      },
      ending)
      .detach();

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

  quorumlock::LeaderCallbacks callbacks;
  callbacks.started = [](quorumlock::Leadership& leadership, const std::stop_token& stop) {
    // A recipient of this leader's orders keeps the greatest token seen and refuses smaller ones.
    std::cout << "leading under fencing token " << leadership.fencing_token() << std::endl;
    // The work goes here, in steps, while this process leads.
    while (!stop.stop_requested()) std::this_thread::sleep_for(10ms);
  };
  callbacks.stopped = [] { std::cout << "not leading any more" << std::endl; };
  callbacks.observed = [](const std::optional<quorumlock::Leader>& leader) {
    std::cerr << "led by " << (leader ? leader->value : "nobody") << std::endl;
  };
  // The value that others see; in a server, its address.
  const std::string me = "process " + std::to_string(getpid());
  quorumlock::LeaderElector elector(*coordinator, "leader:" + std::string(argv[1]), me,
                                    std::move(callbacks), {.ttl = 2s});
  if (const auto ended = elector.run(ending.get_token()); !ended) {
    std::cerr << ended.error().what() << '\n';
    return 1;
  }
  return 0;
}
