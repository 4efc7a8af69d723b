#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "local/server.hpp"

namespace flash_sale {

/// Five durable Redis nodes of our own in a directory. The destructor ends them.
class Nodes {
 public:
  /// With `tls` the nodes speak TLS on ports, and this program and its children trust them.
  explicit Nodes(const std::filesystem::path& dir, bool tls = false, int count = 5);

  [[nodiscard]] std::vector<std::string> urls() const;
  /// Kills with SIGKILL, so that nothing is flushed and every connection breaks.
  void kill(const std::vector<std::size_t>& which);
  /// Restarts the nodes with their data on disk; returns once they answer.
  void bring_back(const std::vector<std::size_t>& which);

 private:
  std::vector<quorumlock::local::Server> servers_;
};

}  // namespace flash_sale
