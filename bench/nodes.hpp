#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

#include "chaos/proxy.hpp"
#include "local/server.hpp"
#include "local/temporary_directory.hpp"

namespace quorumlock::bench {

struct NodesSettings {
  int count = 5;   ///< in all
  int groups = 1;  ///< quorum groups of as many nodes each
  bool unix_sockets = false;
  bool durable = false;  ///< appendonly yes, appendfsync always; else no persistence at all
  bool proxied = false;  ///< the last one is reached through a proxy: see Nodes::set_weather()
  std::chrono::milliseconds max_ttl = std::chrono::seconds(30);  ///< with which they are enrolled
  std::vector<std::string> more = {};  ///< see local::ServerSettings::more
  auto operator<=>(const NodesSettings&) const = default;
};

/// Redis-servers of the bench's own, enrolled, in a directory that goes with them.
class Nodes {
 public:
  explicit Nodes(NodesSettings settings);

  [[nodiscard]] int count() const { return settings_.count; }
  [[nodiscard]] int quorum() const { return settings_.count / settings_.groups / 2 + 1; }
  [[nodiscard]] std::vector<std::string> urls() const;
  /// The usual ones, for these nodes or groups.
  [[nodiscard]] Options options() const;
  /// The port on 127.0.0.1, or 0 where it is a unix socket.
  [[nodiscard]] int port(int node) const;
  [[nodiscard]] std::string path(int node) const;
  [[nodiscard]] pid_t pid(int node) const { return servers_[static_cast<std::size_t>(node)].pid(); }
  /// One command on a connection of its own; its reply as text, an integer as digits.
  std::string ask(int node, const std::vector<std::string>& words) const;
  /// The last one, which faults befall.
  local::Server& last() { return servers_.back(); }
  /// Of all connections to the last one, where it is proxied.
  void set_weather(const chaos::Weather& weather) { proxy_->set(0, weather); }

  /// How many keys there are on all nodes together, but for quorumlock's own, such as counters.
  [[nodiscard]] std::int64_t keys() const;
  /// Commands that clients have sent to all nodes together; what scripts call is not in it.
  [[nodiscard]] std::int64_t commands() const;
  /// How long the script calls in the slow logs took, in microseconds. What scripts call has
  /// entries of its own there, which are not counted.
  [[nodiscard]] std::vector<std::int64_t> slow_calls() const;
  /// On how many nodes one key fits this glob, and has a value of 40 characters, or one such
  /// reader.
  [[nodiscard]] int holding(const std::string& pattern) const;

 private:
  [[nodiscard]] bool is_proxied(int node) const {
    return settings_.proxied && node == settings_.count - 1;
  }

  NodesSettings settings_;
  local::TemporaryDirectory dir_;
  std::vector<local::Server> servers_;
  std::unique_ptr<chaos::Proxy> proxy_;  ///< of the last one
};

}  // namespace quorumlock::bench
