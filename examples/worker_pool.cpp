// Workers on any number of machines, only a few of which may use something at a time: an API that
// allows three calls at once, or a database that copes with few conversions at a time.
//
//     worker_pool NAME LIMIT JOB...
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <quorumlock/quorumlock.hpp>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// The work that must not be done too often at the same time.
void work(const std::string& job, const quorumlock::Lease& permit) {
  std::cout << job << " under fencing token " << permit.fencing_token() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: worker_pool NAME LIMIT JOB...\n";
    return 64;
  }
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
  // Every worker must name the same limit. A worker that dies frees its permit after the ttl.
  quorumlock::Semaphore pool(*coordinator, argv[1], std::atoi(argv[2]), {.ttl = 5s, .wait = 60s});
  try {
    for (const std::string& job : std::vector<std::string>(argv + 3, argv + argc)) {
      const std::lock_guard permit(pool);
      work(job, pool.lease());
    }
  } catch (const quorumlock::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
