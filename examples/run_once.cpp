// A job that must run once, however many servers start it at the same time.
//
//     run_once report-2026-11-21.done
//
// The file shows that the job has run. A second process waits for the first and then finds the
// file; if the first dies, its lock ends with its ttl and the next one runs the job.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <quorumlock/quorumlock.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: run_once FILE\n";
    return 64;
  }
  const std::filesystem::path done = argv[1];

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

  const auto ran = coordinator->with_lock(
      "job:" + done.filename().string(), {.wait = 30s}, [&](quorumlock::Lease& lease) {
        if (std::filesystem::exists(done)) return false;
        // The work goes here. A long job checks lease.stop_token() between its steps.
        const std::filesystem::path draft = done.string() + "." + std::to_string(getpid());
        std::ofstream(draft) << "run by process " << getpid() << " under fencing token "
                             << lease.fencing_token() << '\n';
        // The last step marks the job as done, atomically.
        if (!lease.is_valid()) throw std::runtime_error("the lock was lost on the way");
        std::filesystem::rename(draft, done);
        return true;
      });
  if (!ran) {
    std::cerr << ran.error().what() << '\n';
    return 1;
  }
  std::cout << (*ran ? "ran the job\n" : "it has run already\n");
  return 0;
}
