#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "chaos/node_clock.hpp"
#include "integration/fixture.hpp"

namespace quorumlock::test {

/// Nodes whose wall clocks the test sets one by one.
class ClockedNodes {
 public:
  explicit ClockedNodes(ClusterSettings settings = {})
      : cluster(with_clocks(std::move(settings))) {}

  /// Gives access to settings other than step().
  chaos::NodeClock& clock(int node) { return clocks_.at(static_cast<std::size_t>(node)); }
  /// Sets the clocks of these nodes forward or back at once. Returns once each shows it: Valkey 9
  /// reads the wall clock only once in a millisecond.
  void step(const std::vector<int>& nodes, std::chrono::seconds by) {
    for (const int node : nodes) clocks_.at(static_cast<std::size_t>(node)).step(by);
    for (const int node : nodes) {
      shift_.at(static_cast<std::size_t>(node)) += by;
      EXPECT_TRUE(eventually([&] { return shows(node); }));
    }
  }

 private:
  /// Whether the node's clock is as far from ours as it has been set, within 5 s.
  bool shows(int node) {
    const Reply reply = cluster.raw(node, {"TIME"});
    const std::chrono::seconds its(std::stoll(reply.elements.at(0).text));
    const auto ours = std::chrono::system_clock::now().time_since_epoch();
    const auto off = its - ours - shift_.at(static_cast<std::size_t>(node));
    return off > -5s && off < 5s;
  }
  ClusterSettings with_clocks(ClusterSettings settings) {
    for (int node = 0; node < settings.size; ++node) {
      shift_.emplace_back(0);
      clocks_.emplace_back(directory_.path() / std::to_string(node));
      settings.environments.push_back(clocks_.back().environment());
    }
    return settings;
  }

  TemporaryDirectory directory_;
  std::deque<chaos::NodeClock> clocks_;
  std::vector<std::chrono::seconds> shift_;

 public:
  Cluster cluster;
};

/// Collects a coordinator's messages to Options::log. Must outlive the coordinator.
class Log {
 public:
  [[nodiscard]] auto writer() {
    return [this](std::string_view sentence) {
      const std::lock_guard<std::mutex> lock(guard_);
      sentences_.emplace_back(sentence);
    };
  }
  /// Returns the sentences so far that contain these words.
  [[nodiscard]] std::vector<std::string> with(const std::string& words) const {
    const std::lock_guard<std::mutex> lock(guard_);
    std::vector<std::string> found;
    for (const std::string& sentence : sentences_) {
      if (sentence.find(words) != sentence.npos) found.push_back(sentence);
    }
    return found;
  }

 private:
  mutable std::mutex guard_;
  std::vector<std::string> sentences_;
};

}  // namespace quorumlock::test
