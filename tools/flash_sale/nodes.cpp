#include "nodes.hpp"

#include "local/certificates.hpp"
#include "local/enroll.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>

namespace flash_sale {

using quorumlock::local::Server;
using quorumlock::local::ServerSettings;

Nodes::Nodes(const std::filesystem::path& dir, bool tls, int count) {
  std::optional<quorumlock::local::ServerTls> certificates;
#if QUORUMLOCK_WITH_TLS
  if (tls) certificates = quorumlock::local::make_trusted_certificates(dir / "tls");
#else
  if (tls) throw std::runtime_error("--tls is given, and this demo is built without TLS");
#endif
  std::vector<ServerSettings> settings(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    // Unix sockets are used, as a port might be in use by another program.
    settings[i].dir = dir / ("node-" + std::to_string(i + 1));
    settings[i].tls = certificates;
    if (tls) settings[i].tls->port = quorumlock::local::free_port();
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
