#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/node_clock.hpp"
#include "local/server.hpp"
#include "support/cluster.hpp"
#include "support/proxy.hpp"
#include "support/redis.hpp"

namespace quorumlock::chaos {

using test::Proxy;
using test::Weather;

/// Real redis-servers, each with a clock that we control, on a network that we control.
class Nodes {
 public:
  Nodes(const std::filesystem::path& dir, int count, std::uint64_t seed);

  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  /// Whether the node writes to disk before it answers; the others keep nothing.
  [[nodiscard]] bool durable(int node) const;
  local::Server& server(int node) { return servers_.at(static_cast<std::size_t>(node)); }
  NodeClock& clock(int node) { return *clocks_.at(static_cast<std::size_t>(node)); }
  void set_weather(int node, const Weather& weather);
  void reset_connections(int node);
  /// The addresses of the nodes for workers: those of the proxy.
  [[nodiscard]] std::vector<std::string> urls() const;

  /// Sends one command, past the proxy.
  test::Reply ask(int node, const std::vector<std::string>& words);
  /// All keys but the library's own records.
  std::vector<Orphan> locks();

 private:
  std::vector<std::unique_ptr<NodeClock>> clocks_;
  std::vector<local::Server> servers_;
  std::unique_ptr<Proxy> proxy_;
  bool tls_ = false;
};

}  // namespace quorumlock::chaos
