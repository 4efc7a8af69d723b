#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
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

/// Real redis-servers, each with a clock that we control, on a network that we control. Some of
/// them are the list that the workers' locks are kept on, and the others are spare.
class Nodes {
 public:
  /// The first `count` servers are the list.
  Nodes(const std::filesystem::path& dir, int count, int spares, std::uint64_t seed);

  /// The number of servers, spare ones included.
  [[nodiscard]] int size() const { return static_cast<int>(servers_.size()); }
  [[nodiscard]] const std::vector<int>& list() const { return list_; }
  void set_list(std::vector<int> list) { list_ = std::move(list); }
  [[nodiscard]] bool in_list(int node) const;
  /// The servers that are not in the list.
  [[nodiscard]] std::vector<int> spares() const;
  /// The node that is `steps` places after this one in the list, wrapping at its end.
  [[nodiscard]] int after(int node, int steps) const;
  /// Whether the node writes to disk before it answers; the others keep nothing.
  [[nodiscard]] bool durable(int node) const;
  /// Deletes all keys of the node.
  void forget(int node);
  /// Plants a mistake: from now on forget() leaves the node its record, so that it votes at once.
  void give_records_back() { keeps_records_ = true; }
  local::Server& server(int node) { return servers_.at(static_cast<std::size_t>(node)); }
  NodeClock& clock(int node) { return *clocks_.at(static_cast<std::size_t>(node)); }
  void set_weather(int node, const Weather& weather);
  void reset_connections(int node);
  /// The addresses of all servers for workers: those of the proxy.
  [[nodiscard]] std::vector<std::string> urls() const;
  [[nodiscard]] std::vector<std::string> urls_of(const std::vector<int>& list) const;
  /// Starts a server without any data in place of this one, as on a new machine.
  void start_fresh(int node);

  /// Sends one command, past the proxy.
  test::Reply ask(int node, const std::vector<std::string>& words);
  /// How far the node is in the changes of the list; nothing if it has no vote. Asks a server that
  /// runs, and waits for one that is frozen.
  std::optional<long long> steps_made(int node);
  /// All keys but the library's own records, on all servers that run.
  std::vector<Orphan> locks();

 private:
  std::vector<std::unique_ptr<NodeClock>> clocks_;
  std::vector<local::Server> servers_;
  std::unique_ptr<Proxy> proxy_;
  std::vector<int> list_;
  bool tls_ = false;
  bool keeps_records_ = false;  ///< see give_records_back()
};

}  // namespace quorumlock::chaos
