#include "chaos/nodes.hpp"

namespace quorumlock::chaos {

Nodes::Nodes(const std::filesystem::path& dir, int count, std::uint64_t seed) {
  std::vector<local::ServerSettings> settings;
  std::vector<std::filesystem::path> sockets;
  for (int node = 0; node < count; ++node) {
    const std::string name = "node" + std::to_string(node + 1);
    clocks_.push_back(std::make_unique<NodeClock>(dir / (name + ".clock")));
    local::ServerSettings one;
    one.dir = dir / name;
    one.durable = node <= count / 2;
    one.environment = clocks_.back()->environment();
    one.tls = test::tls_of_tests();
    tls_ = one.tls.has_value();
    sockets.push_back(tls_ ? std::filesystem::path(std::to_string(one.tls->port))
                           : one.dir / "redis.sock");
    settings.push_back(std::move(one));
  }
  servers_ = local::Server::start_all(std::move(settings));
  proxy_ = std::make_unique<Proxy>(std::move(sockets), seed);
}

std::vector<std::string> Nodes::urls() const {
  std::vector<std::string> urls = proxy_->urls();
  for (std::string& url : urls) {
    if (tls_) url.insert(url.find(':'), "s");
  }
  return urls;
}

bool Nodes::durable(int node) const {
  return servers_.at(static_cast<std::size_t>(node)).settings().durable;
}

void Nodes::set_weather(int node, const Weather& weather) {
  proxy_->set(static_cast<std::size_t>(node), weather);
}

void Nodes::reset_connections(int node) {
  proxy_->reset(static_cast<std::size_t>(node));
}

test::Reply Nodes::ask(int node, const std::vector<std::string>& words) {
  return test::Redis(server(node).plain_url())(words);
}

std::vector<Orphan> Nodes::locks() {
  std::vector<Orphan> found;
  for (int node = 0; node < size(); ++node) {
    for (const test::Reply& key : ask(node, {"KEYS", "*"}).elements) {
      const bool permit = key.text.starts_with("quorumlock:permit:");
      if (key.text.starts_with("quorumlock:") && !permit) continue;
      const long long pttl = ask(node, {"PTTL", key.text}).integer;
      if (pttl != -2) found.push_back({node, key.text, pttl});
    }
  }
  return found;
}

}  // namespace quorumlock::chaos
