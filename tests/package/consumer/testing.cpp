// Uses the installed test kit: no server runs.

#include <quorumlock/quorumlock.hpp>
#include <quorumlock/testing.hpp>

#include <iostream>

int main() {
  using namespace std::chrono_literals;
  quorumlock::testing::Cluster cluster(3);
  quorumlock::testing::ManualClock clock;
  auto coordinator = quorumlock::Coordinator::create(cluster.options()).value();
  quorumlock::Lease lease = coordinator.acquire("orders:42").value();
  clock.advance(1min);
  if (!lease.is_valid()) {
    std::cerr << "not as expected: the lease was not renewed\n";
    return 1;
  }
  if (!cluster.lose(lease) || !lease.stop_token().stop_requested()) {
    std::cerr << "not as expected: the lease was not lost\n";
    return 1;
  }
  std::cout << "consumer_testing: ok\n";
}
