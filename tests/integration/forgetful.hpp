#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "integration/fixture.hpp"

// Nodes that forget, and that get other nodes' data.
namespace quorumlock::test {

inline constexpr const char* record_key = "quorumlock:enrolment";

/// Three nodes of the test's own, whose locks last for `max_ttl` at most. The cluster enrols them
/// once and not again after a restart.
class Forgetful {
 public:
  explicit Forgetful(std::chrono::milliseconds max_ttl, bool durable = false, bool tcp = false)
      : cluster({.size = 3,
                 .durable = durable,
                 .tcp = tcp,
                 .more = {"--repl-diskless-sync-delay", "0"},
                 .enrolled = false,
                 .max_ttl = max_ttl,
                 .plain = tcp}) {  // one test gives its port to another server
    for (int node = 0; node < 3; ++node) cluster.enrol(node);
  }

  [[nodiscard]] Options options() const {
    Options options = cluster.options();
    options.ttl = *options.max_ttl;
    options.auto_extend = false;
    return options;
  }
  /// Kills the node and starts it again. A volatile node comes back empty.
  void restart(int node) {
    cluster.kill(node);
    cluster.restart(node);
  }
  /// Gives the node, which is down, the files of another server from this directory.
  void take_files(int node, const std::filesystem::path& from) {
    const std::filesystem::path to = cluster.server(node).settings().dir / "appendonlydir";
    std::filesystem::remove_all(to);
    std::filesystem::copy(from / "appendonlydir", to, std::filesystem::copy_options::recursive);
  }
  NodeStatus status(Coordinator& coordinator, int node) {
    return coordinator.status().value().nodes.at(static_cast<std::size_t>(node));
  }
  /// Returns true once the coordinator is connected to the node's present run and sees this state.
  bool is_seen(Coordinator& coordinator, int node, NodeState state) {
    const std::string info = cluster.raw(node, {"INFO", "server"}).text;
    return eventually([&] {
      const NodeStatus seen = status(coordinator, node);
      return seen.state == state && !seen.run_id.empty() && info.find(seen.run_id) != info.npos;
    });
  }
  std::uint64_t counter(int node, const std::string& key) {
    return std::stoull(cluster.value(node, "quorumlock:fence:" + key).value_or("0"));
  }

  Cluster cluster;
};

/// Returns this node's vote on a request that was refused.
template <class T>
Vote vote_of(const Result<T>& refused, std::size_t node) {
  return refused.error().outcome().votes.at(node).vote;
}

}  // namespace quorumlock::test
