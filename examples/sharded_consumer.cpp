// Consumers that share the shards of a stream: each shard has one consumer at a time, and if a
// process dies, the others take over its shards.
//
//     sharded_consumer STREAM SHARDS MOST
//
// A process takes MOST shards at most. With three processes of which one may fail, MOST is half of
// SHARDS: then two can have all of them.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <quorumlock/quorumlock.hpp>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Handles one item of the shard. Each write carries the fencing token, so that a consumer that was
/// stopped, and goes on when another has the shard, is refused.
void consume(int shard, const quorumlock::Lease& lease) {
  (void)shard;
  (void)lease.fencing_token();
}

/// Waits for a moment. Returns true if the process was asked to end.
bool asked_to_end(const sigset_t& signals) {
  const timespec moment{.tv_sec = 0, .tv_nsec = 100'000'000};
  return sigtimedwait(&signals, nullptr, &moment) > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int shards = argc == 4 ? std::atoi(argv[2]) : 0;
  const int most = argc == 4 ? std::atoi(argv[3]) : 0;
  if (shards < 1 || most < 1) {
    std::cerr << "usage: sharded_consumer STREAM SHARDS MOST\n";
    return 64;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // in every thread: asked_to_end() takes them

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

  std::map<int, quorumlock::Lease> mine;
  int next = 0;  // the shard to try next
  while (!asked_to_end(signals)) {
    // A shard whose lease is ending is given up, and may be taken again like any other.
    std::erase_if(mine, [](const auto& shard) {
      if (!shard.second.stop_token().stop_requested()) return false;
      std::cout << "lost shard " << shard.first << std::endl;
      return true;
    });
    // One new shard a turn, so that processes that start together share them.
    for (int tried = 0; tried < shards && static_cast<int>(mine.size()) < most; ++tried) {
      const int shard = next++ % shards;
      if (mine.contains(shard)) continue;
      auto lease =
          coordinator->acquire(std::string(argv[1]) + ":" + std::to_string(shard), {.ttl = 5s});
      if (!lease) continue;  // another has it, or there is no quorum of nodes
      std::cout << "took shard " << shard << " under fencing token " << lease->fencing_token()
                << std::endl;
      mine.emplace(shard, std::move(*lease));
      break;
    }
    for (const auto& [shard, lease] : mine) consume(shard, lease);
  }
  return 0;  // the destructors release the shards: others take them at once
}
