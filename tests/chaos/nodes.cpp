#include "chaos/nodes.hpp"

#include <algorithm>
#include <numeric>

#include "chaos/standing.hpp"

namespace quorumlock::chaos {

Nodes::Nodes(const std::filesystem::path& dir, int count, int spares, std::uint64_t seed)
    : list_(static_cast<std::size_t>(count)) {
  std::iota(list_.begin(), list_.end(), 0);
  std::vector<local::ServerSettings> settings;
  std::vector<std::filesystem::path> sockets;
  for (int node = 0; node < count + spares; ++node) {
    const std::string name = "node" + std::to_string(node + 1);
    clocks_.push_back(std::make_unique<NodeClock>(dir / (name + ".clock")));
    local::ServerSettings one;
    one.dir = dir / name;
    one.durable = node <= count / 2 || node == count;
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

bool Nodes::in_list(int node) const {
  return std::ranges::find(list_, node) != list_.end();
}

std::vector<int> Nodes::spares() const {
  std::vector<int> spare;
  for (int node = 0; node < size(); ++node) {
    if (!in_list(node)) spare.push_back(node);
  }
  return spare;
}

int Nodes::after(int node, int steps) const {
  const auto place = std::ranges::find(list_, node) - list_.begin() + steps;
  return list_.at(static_cast<std::size_t>(place) % list_.size());
}

std::vector<std::string> Nodes::urls_of(const std::vector<int>& list) const {
  std::vector<std::string> urls;
  const std::vector<std::string> all = this->urls();
  for (const int node : list) urls.push_back(all.at(static_cast<std::size_t>(node)));
  return urls;
}

void Nodes::start_fresh(int node) {
  local::Server& one = server(node);
  one.kill();
  std::filesystem::remove_all(one.settings().dir);
  one.restart();
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

void Nodes::forget(int node) {
  const std::vector<std::string> keys{"quorumlock:enrolment", "quorumlock:members"};
  std::vector<std::string> texts;
  for (const std::string& key : keys) texts.push_back(ask(node, {"GET", key}).text);
  ask(node, {"FLUSHALL"});
  for (std::size_t i = 0; keeps_records_ && i < keys.size(); ++i) {
    ask(node, {"SET", keys[i], texts[i]});
  }
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

std::optional<long long> Nodes::steps_made(int node) {
  if (!server(node).running()) return std::nullopt;
  const std::string run_id = field_of(ask(node, {"INFO", "server"}).text, "run_id");
  return chaos::steps_made(ask(node, {"GET", "quorumlock:enrolment"}).text, run_id);
}

std::vector<Orphan> Nodes::locks() {
  std::vector<Orphan> found;
  for (int node = 0; node < size(); ++node) {
    if (!server(node).running()) continue;
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
