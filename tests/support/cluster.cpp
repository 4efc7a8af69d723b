#include "support/cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "local/certificates.hpp"
#include "support/users.hpp"

namespace quorumlock::test {
namespace {

/// The name of a node by default: host:port, or the path of its socket.
std::string member_name(std::string url) {
  url.erase(0, url.find("://") + 3);
  url.erase(0, url.find('@') + 1);
  if (url.starts_with('/')) return url.substr(0, url.find('?'));
  url = url.substr(0, url.find('/'));
  return url.find(':') == url.npos ? url + ":6379" : url;
}

/// FNV-1a, 64 bits, in 16 hexadecimal digits.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char next : text) hash = (hash ^ static_cast<unsigned char>(next)) * 0x100000001b3U;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

#if QUORUMLOCK_WITH_TLS
/// Makes this process and its children trust the authority, too.
const local::ServerTls& certificates() {
  static const TemporaryDirectory directory;
  static const local::ServerTls made = local::make_trusted_certificates(directory.path());
  return made;
}
#endif

}  // namespace

std::optional<local::ServerTls> tls_of_tests(bool always) {
#if QUORUMLOCK_WITH_TLS
  if (always || std::getenv("QUORUMLOCK_TEST_TLS") != nullptr) {
    local::ServerTls tls = certificates();
    tls.port = local::free_port();
    return tls;
  }
#endif
  if (always) throw std::runtime_error("the tests are built without TLS");
  return std::nullopt;
}

Cluster::Cluster(ClusterSettings settings) : settings_(settings) {
  std::vector<local::ServerSettings> each;
  for (int node = 0; node < settings.size; ++node) {
    local::ServerSettings one;
    one.dir = directory_.path() / std::to_string(node);
    one.port = settings.tcp || has_users() ? local::free_port() : 0;
    if (!settings.plain) one.tls = tls_of_tests(settings.tls);
    one.durable = settings.durable;
    one.more = settings.more;
    if (has_users()) {
      const std::vector<std::string> users = settings_with_user(settings.user);
      one.more.insert(one.more.end(), users.begin(), users.end());
    }
    if (!settings.environments.empty()) {
      one.environment = settings.environments.at(static_cast<std::size_t>(node));
    }
    each.push_back(std::move(one));
  }
  servers_ = local::Server::start_all(std::move(each));
  if (!settings_.enrolled) return;
  for (int node = 0; node < size(); ++node) enrol(node);
}

void Cluster::enrol(int node) {
  const std::string run = "run_id:";
  const std::string info = raw(node, {"INFO", "server"}).text;
  const std::string run_id = info.substr(info.find(run) + run.size(), 40);
  const Nodes list = list_.empty() ? Nodes(urls()) : list_;
  std::vector<std::string> names;
  for (const NodeOptions& one : list) {
    names.push_back(one.name.empty() ? member_name(one.url) : one.name);
  }
  std::string members = names.at(static_cast<std::size_t>(node)) + " s - ";
  std::ranges::sort(names);
  for (const std::string& name : names) members += (&name == &names[0] ? "" : ",") + name;
  members += " - " + std::to_string(settings_.max_ttl.count()) + ",86400";
  raw(node, {"SET", "quorumlock:members", members});
  raw(node, {"SET", "quorumlock:enrolment",
             run_id + ":" + std::to_string(++enrolments_) + "@" + settings_.mark +
                 "#0000000000000001.0s." + digest(members)});
}

void Cluster::enrol_for(Nodes nodes) {
  list_ = std::move(nodes);
  for (int node = 0; node < std::min(size(), static_cast<int>(list_.size())); ++node) {
    if (can_be_asked(node)) enrol(node);
  }
}

bool Cluster::has_users() const {
  return users_of_tests() && !settings_.plain && !settings_.user.empty();
}

std::vector<std::string> Cluster::urls() const {
  std::vector<std::string> urls = shown_urls();
  for (std::string& url : urls) {
    if (has_users()) url = with_login(url, settings_.user);
  }
  return urls;
}

std::vector<std::string> Cluster::shown_urls() const {
  std::vector<std::string> urls;
  for (const local::Server& server : servers_) urls.push_back(server.url());
  return urls;
}

std::vector<std::string> Cluster::plain_urls() const {
  std::vector<std::string> urls;
  for (const local::Server& server : servers_) {
    urls.push_back(has_users() ? with_login(server.plain_url(), test_user) : server.plain_url());
  }
  return urls;
}

Options Cluster::options() const {
  Options options;
  options.nodes = urls();
  options.max_ttl = settings_.max_ttl;
  options.node_timeout = std::chrono::seconds(20);
  options.connect_timeout = std::chrono::seconds(20);
  options.retry = {std::chrono::milliseconds(5), std::chrono::milliseconds(5)};
  return options;
}

Reply Cluster::raw(int node, const std::vector<std::string>& words) {
  auto found = connections_.find(node);
  if (found == connections_.end()) {
    found =
        connections_.emplace(node, Redis(plain_urls().at(static_cast<std::size_t>(node)))).first;
  }
  ++own_commands_[node];
  return found->second(words);
}

long long Cluster::commands(int node) {
  const std::string before = "total_commands_processed:";
  const std::string info = raw(node, {"INFO", "stats"}).text;
  return std::stoll(info.substr(info.find(before) + before.size())) - own_commands_[node] + 1;
}

long long Cluster::calls(int node, const std::string& command) {
  const std::string before = "cmdstat_" + command + ":calls=";
  const std::string info = raw(node, {"INFO", "commandstats"}).text;
  const std::size_t at = info.find(before);
  return at == info.npos ? 0 : std::stoll(info.substr(at + before.size()));
}

bool Cluster::can_be_asked(int node) {
  return server(node).running() && !paused_[node];
}

void Cluster::raw_everywhere(const std::vector<std::string>& words) {
  for (int node = 0; node < size(); ++node) {
    if (can_be_asked(node)) raw(node, words);
  }
}

std::optional<std::string> Cluster::value(int node, const std::string& key) {
  const Reply reply = raw(node, {"GET", key});
  if (reply.type != Reply::Type::string) return std::nullopt;
  return reply.text;
}

std::chrono::milliseconds Cluster::pttl(int node, const std::string& key) {
  return std::chrono::milliseconds(raw(node, {"PTTL", key}).integer);
}

int Cluster::holders(const std::string& key, const std::string& token) {
  int count = 0;
  for (int node = 0; node < size(); ++node) {
    if (can_be_asked(node) && value(node, key) == token) ++count;
  }
  return count;
}

int Cluster::holders(const std::string& key) {
  int count = 0;
  for (int node = 0; node < size(); ++node) {
    if (can_be_asked(node) && raw(node, {"EXISTS", key}).integer == 1) ++count;
  }
  return count;
}

void Cluster::plant(int node, const std::string& key, const std::string& token) {
  raw(node, {"SET", key, token, "PX", "600000"});
}

std::vector<std::string> Cluster::keys() {
  std::vector<std::string> keys;
  for (int node = 0; node < size(); ++node) {
    if (!can_be_asked(node)) continue;
    for (const Reply& key : raw(node, {"KEYS", "*"}).elements) {
      if (!key.text.starts_with("quorumlock:")) keys.push_back(key.text);
    }
  }
  return keys;
}

void Cluster::pause(int node) {
  server(node).pause();
  paused_[node] = true;
}

void Cluster::resume(int node) {
  server(node).resume();
  paused_[node] = false;
}

void Cluster::kill(int node) {
  server(node).kill();
  connections_.erase(node);
  own_commands_[node] = 0;
  paused_[node] = false;
}

void Cluster::restart(int node) {
  connections_.erase(node);
  server(node).restart();
  if (settings_.enrolled) enrol(node);
}

void Cluster::drop_clients(int node) {
  raw(node, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
}

void Cluster::heal() {
  for (int node = 0; node < size(); ++node) {
    if (paused_[node]) resume(node);
    if (!server(node).running()) restart(node);
    if (settings_.enrolled) enrol(node);
    for (const Reply& key : raw(node, {"KEYS", "*"}).elements) {
      if (!key.text.starts_with("quorumlock:")) raw(node, {"DEL", key.text});
    }
  }
}

}  // namespace quorumlock::test
