// Uses the component prometheus: the metrics of a coordinator whose node does not exist.

#include <quorumlock/prometheus.hpp>
#include <quorumlock/quorumlock.hpp>

#include <iostream>

int main() {
  quorumlock::Options options;
  options.nodes = {"unix:///nowhere/1"};
  auto coordinator = quorumlock::Coordinator::create(options).value();
  const quorumlock::PrometheusCollectable metrics(coordinator);
  const auto families = metrics.Collect();
  if (families.empty() || families.front().name != "quorumlock_held") {
    std::cerr << "not as expected: there are no metrics\n";
    return 1;
  }
  std::cout << "consumer_prometheus: ok\n";
}
