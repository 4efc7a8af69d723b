#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "local/server.hpp"

namespace quorumlock::bench {

/// Five redis-servers of the bench's own, without persistence, in a directory that goes with them.
class Nodes {
 public:
  static constexpr int count = 5;
  static constexpr int quorum = 3;

  explicit Nodes(bool unix_sockets);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  [[nodiscard]] std::vector<std::string> urls() const;
  /// The port on 127.0.0.1, or 0 where it is a unix socket.
  [[nodiscard]] int port(int node) const;
  [[nodiscard]] std::string path(int node) const;
  local::Server& server(int node) { return servers_[static_cast<std::size_t>(node)]; }

  /// How many keys there are on all nodes together, but for quorumlock's own, such as counters.
  [[nodiscard]] std::int64_t keys() const;
  /// Commands that clients have sent to all nodes together; what scripts call is not in it.
  [[nodiscard]] std::int64_t commands() const;
  /// On how many nodes one key fits this glob, and has a value of 40 characters, or one such reader.
  [[nodiscard]] int holding(const std::string& pattern) const;

 private:
  std::filesystem::path dir_;
  std::vector<local::Server> servers_;
};

}  // namespace quorumlock::bench
