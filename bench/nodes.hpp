#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "chaos/proxy.hpp"
#include "local/server.hpp"

namespace quorumlock::bench {

struct NodesSettings {
  int count = 5;
  bool unix_sockets = false;
  bool durable = false;  ///< appendonly yes, appendfsync always; else no persistence at all
  bool proxied = false;  ///< the last one is reached through a proxy: see Nodes::set_weather()
  auto operator<=>(const NodesSettings&) const = default;
};

/// Redis-servers of the bench's own, in a directory that goes with them.
class Nodes {
 public:
  explicit Nodes(NodesSettings settings);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  [[nodiscard]] int count() const { return settings_.count; }
  [[nodiscard]] int quorum() const { return settings_.count / 2 + 1; }
  [[nodiscard]] std::vector<std::string> urls() const;
  /// The port on 127.0.0.1, or 0 where it is a unix socket.
  [[nodiscard]] int port(int node) const;
  [[nodiscard]] std::string path(int node) const;
  /// The last one, which faults befall.
  local::Server& last() { return servers_.back(); }
  /// Of all connections to the last one, where it is proxied.
  void set_weather(const chaos::Weather& weather) { proxy_->set(0, weather); }

  /// How many keys there are on all nodes together, but for quorumlock's own, such as counters.
  [[nodiscard]] std::int64_t keys() const;
  /// Commands that clients have sent to all nodes together; what scripts call is not in it.
  [[nodiscard]] std::int64_t commands() const;
  /// On how many nodes one key fits this glob, and has a value of 40 characters, or one such reader.
  [[nodiscard]] int holding(const std::string& pattern) const;

 private:
  [[nodiscard]] bool is_proxied(int node) const {
    return settings_.proxied && node == settings_.count - 1;
  }

  NodesSettings settings_;
  std::filesystem::path dir_;
  std::vector<local::Server> servers_;
  std::unique_ptr<chaos::Proxy> proxy_;  ///< of the last one
};

}  // namespace quorumlock::bench
