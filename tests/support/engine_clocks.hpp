#pragma once

#include "support/engine_driver.hpp"

namespace quorumlock::test {

/// Adds the node's clock, which may be ahead of the true time, to each answer.
struct Clocks {
  explicit Clocks(int nodes) : driver(nodes), ahead(static_cast<std::size_t>(nodes)) {
    driver.now = at(1h);
  }
  EngineDriver driver;
  std::vector<core::Duration> ahead;

  void reply(int node, Vote vote) {
    core::Answer answer{vote};
    answer.asked = driver.now;
    const core::Duration clock =
        driver.now.time_since_epoch() + ahead[static_cast<std::size_t>(node)];
    answer.node_time = clock / 1us;
    driver.reply(node, answer);
  }
  void reply(std::initializer_list<int> nodes, Vote vote) {
    for (const int node : nodes) reply(node, vote);
  }
  /// Wins "key" on all nodes.
  void hold() {
    driver.acquire(1, ten_seconds);
    for (int node = 0; node < driver.nodes(); ++node) reply(node, Vote::granted);
    ASSERT_EQ(driver.count<core::Acquired>(), 1U);
    driver.forget_seen();
  }
  /// Learns the time of all nodes from a lock that has been released, and lets a second pass.
  void learn() {
    hold();
    driver.release(driver.lease());
    driver.answer_all();
    driver.pass(1s);
    driver.forget_seen();
  }
};

}  // namespace quorumlock::test
