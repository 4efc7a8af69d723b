#include "nodes.hpp"

#include "local/enroll.hpp"

#include <chrono>

namespace flash_sale {

using quorumlock::local::Server;
using quorumlock::local::ServerSettings;

Nodes::Nodes(const std::filesystem::path& dir, int count) {
  std::vector<ServerSettings> settings(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    // Unix sockets are used, as a port might be in use by another program.
    settings[i].dir = dir / ("node-" + std::to_string(i + 1));
  }
  servers_ = Server::start_all(std::move(settings), std::chrono::seconds(30));
  quorumlock::local::enroll_new(urls());
}

std::vector<std::string> Nodes::urls() const {
  std::vector<std::string> urls;
  for (const Server& server : servers_) urls.push_back(server.url());
  return urls;
}

void Nodes::kill(const std::vector<std::size_t>& which) {
  for (const std::size_t node : which) servers_.at(node).kill();
}

void Nodes::bring_back(const std::vector<std::size_t>& which) {
  for (const std::size_t node : which) servers_.at(node).restart();
}

}  // namespace flash_sale
