#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>

#include "local/server.hpp"
#include "local/temporary_directory.hpp"
#include "support/proxy.hpp"
#include "support/redis.hpp"

namespace quorumlock::bench {

struct NodesSettings {
  int count = 5;   ///< nodes in all groups together
  int spares = 0;  ///< servers in addition, which are not enrolled
  int groups = 1;  ///< quorum groups, each with the same number of nodes
  bool unix_sockets = false;
  bool tls = false;      ///< clients connect over TLS
  bool durable = false;  ///< appendonly yes, appendfsync always; else no persistence at all
  int proxied = 0;  ///< how many nodes, from the last one on, are behind a proxy: see set_weather()
  std::chrono::microseconds away{0};  ///< the delay that the proxy adds, each way
  std::chrono::milliseconds max_ttl = std::chrono::seconds(30);  ///< the max_ttl of their enrolment
  std::vector<std::string> more = {};  ///< see local::ServerSettings::more
  auto operator<=>(const NodesSettings&) const = default;
};

/// Returns the number after `name` in a text such as INFO's; zero if `name` is not in it.
double number_in(const std::string& text, std::string_view name);

/// What servers have done so far, all of them together.
struct Work {
  double cpu_us = 0;      ///< user and system time
  double bytes = 0;       ///< that they received and sent
  double script_us = 0;   ///< how long scripts ran
  double command_us = 0;  ///< how long the commands ran that scripts or clients called
};

/// The bench's own redis-servers, enrolled, in a directory that the destructor removes.
class Nodes {
 public:
  explicit Nodes(NodesSettings settings);

  [[nodiscard]] int count() const { return settings_.count; }
  [[nodiscard]] int quorum() const { return settings_.count / settings_.groups / 2 + 1; }
  [[nodiscard]] std::vector<std::string> urls() const;
  /// Returns the default options for these nodes or groups.
  [[nodiscard]] Options options() const;
  /// Returns the port on 127.0.0.1, or 0 for a unix socket.
  [[nodiscard]] int port(int node) const;
  [[nodiscard]] std::string path(int node) const;
  [[nodiscard]] pid_t pid(int node) const { return servers_[static_cast<std::size_t>(node)].pid(); }
  /// Sends one command on a connection of its own and returns the reply as text, an integer as
  /// digits. Throws std::runtime_error if the node does not answer.
  std::string ask(int node, const std::vector<std::string>& words) const;
  /// Returns the last node, to which the faults apply.
  local::Server& last() { return servers_[static_cast<std::size_t>(count() - 1)]; }
  /// A spare server takes the place of the last node, which becomes the spare one and is emptied.
  void swap_spare();
  /// Sets the weather of all connections to the last node, which must be proxied.
  void set_weather(const test::Weather& weather) {
    proxy_->set(static_cast<std::size_t>(settings_.proxied - 1), weather);
  }

  /// Returns the number of keys on all nodes, without quorumlock's own, such as counters.
  [[nodiscard]] std::int64_t keys() const;
  /// Whether somebody is in the line of some lock, on some node.
  [[nodiscard]] bool has_waiters() const;
  /// Returns the number of commands from clients to all nodes, without those that scripts call.
  [[nodiscard]] std::int64_t commands() const;
  /// Asking for it costs a server about 50 us and 40 bytes.
  [[nodiscard]] Work work() const;
  /// Returns the times of the script calls in the slow logs, in microseconds. Commands that scripts
  /// call have their own entries there, which are not counted.
  [[nodiscard]] std::vector<std::int64_t> slow_calls() const;
  /// Returns on how many nodes exactly one key matches this glob, and has a value of 40 characters,
  /// or one such reader.
  [[nodiscard]] int holding(const std::string& pattern) const;

 private:
  test::Reply reply_to(int node, const std::vector<std::string>& words) const;
  [[nodiscard]] bool is_proxied(int node) const {
    return node < count() && node >= count() - settings_.proxied;
  }

  /// The place in the proxy of a node that is proxied.
  [[nodiscard]] std::size_t proxy_of(int node) const {
    return static_cast<std::size_t>(node - (count() - settings_.proxied));
  }

  NodesSettings settings_;
  local::TemporaryDirectory dir_;
  std::vector<local::Server> servers_;
  std::unique_ptr<test::Proxy> proxy_;  ///< stands in front of the last node
};

}  // namespace quorumlock::bench
