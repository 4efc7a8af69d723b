#include "nodes.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "local/certificates.hpp"
#include "local/enroll.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::bench {
namespace {

/// Whether the text is an owner token: 40 digits, followed by a label if there is one.
bool is_token(std::string_view text) {
  return text.size() == 40 || (text.size() > 40 && text[40] == '@');
}

std::vector<int> free_ports(int count) {
  std::vector<int> ports;
  for (int tries = 0; static_cast<int>(ports.size()) < count && tries < 1000; ++tries) {
    const int port = local::free_port();
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

}  // namespace

double number_in(const std::string& text, std::string_view name) {
  const std::size_t at = text.find(name);
  return at == text.npos ? 0 : std::strtod(text.c_str() + at + name.size(), nullptr);
}

Nodes::Nodes(NodesSettings settings) : settings_(settings) {
  const int all = count() + settings.spares;
  const std::vector<int> ports = free_ports(all);
  std::vector<local::ServerSettings> servers;
  std::optional<local::ServerTls> certificates;
#if QUORUMLOCK_WITH_TLS
  if (settings.tls) certificates = local::make_certificates(dir_.path() / "tls");
#else
  if (settings.tls) throw std::runtime_error("the bench is built without TLS");
#endif
  for (int node = 0; node < all; ++node) {
    const bool unix_socket = settings.unix_sockets || settings.tls || is_proxied(node);
    servers.push_back({.dir = dir_.path() / std::to_string(node + 1),
                       .port = unix_socket ? 0 : ports.at(static_cast<std::size_t>(node)),
                       .durable = settings.durable,
                       .more = settings.more});
    if (settings.tls) {
      servers.back().tls = certificates;
      servers.back().tls->port = ports.at(static_cast<std::size_t>(node));
    }
  }
  servers_ = local::Server::start_all(std::move(servers));
  if (settings.proxied > 0) {
    std::vector<std::filesystem::path> sockets;
    for (int node = count() - settings.proxied; node < count(); ++node)
      sockets.push_back(path(node));
    proxy_ = std::make_unique<test::Proxy>(sockets);
    const test::Course course{.delay = settings.away};
    for (std::size_t i = 0; i < sockets.size(); ++i) proxy_->set(i, {course, course});
  }
  for (int node = 0; node < count(); ++node) {
    reply_to(node, {"SCRIPT", "LOAD", std::string(redis::release_script.source)});
  }
  local::enroll_new(options());
}

Options Nodes::options() const {
  Options options;
  options.max_ttl = settings_.max_ttl;
  options.ttl = std::min<std::chrono::nanoseconds>(options.ttl, settings_.max_ttl);
  options.nodes = urls();
  if (settings_.tls) options.tls.ca_file = (dir_.path() / "tls" / "ca.pem").string();
  for (int node = 0; settings_.groups > 1 && node < count(); ++node) {
    const std::string number = std::to_string(node % settings_.groups + 1);
    options.groups[number].push_back(options.nodes[static_cast<std::size_t>(node)]);
  }
  if (settings_.groups > 1) options.nodes.clear();
  return options;
}

std::vector<std::string> Nodes::urls() const {
  std::vector<std::string> urls;
  for (int node = 0; node < count(); ++node) {
    urls.push_back(is_proxied(node) ? proxy_->url(proxy_of(node))
                                    : servers_[static_cast<std::size_t>(node)].url());
  }
  return urls;
}

void Nodes::swap_spare() {
  std::swap(last(), servers_.back());
  test::Redis(last().plain_url())({"FLUSHALL"});
}

int Nodes::port(int node) const {
  if (is_proxied(node)) {
    const std::string url = proxy_->url(proxy_of(node));
    return std::stoi(url.substr(url.rfind(':') + 1));
  }
  return servers_[static_cast<std::size_t>(node)].settings().port;
}

std::string Nodes::path(int node) const {
  return (servers_[static_cast<std::size_t>(node)].settings().dir / "redis.sock").string();
}

test::Reply Nodes::reply_to(int node, const std::vector<std::string>& words) const {
  return test::Redis(servers_.at(static_cast<std::size_t>(node)).plain_url())(words);
}

std::string Nodes::ask(int node, const std::vector<std::string>& words) const {
  const test::Reply reply = reply_to(node, words);
  return reply.type == test::Reply::Type::integer ? std::to_string(reply.integer) : reply.text;
}

std::int64_t Nodes::keys() const {
  std::int64_t keys = 0;
  for (int node = 0; node < count(); ++node) {
    const std::string own = std::string(redis::own_prefix) + "*";
    keys += reply_to(node, {"DBSIZE"}).integer;
    keys -= static_cast<std::int64_t>(reply_to(node, {"KEYS", own}).elements.size());
  }
  return keys;
}

bool Nodes::has_waiters() const {
  for (int node = 0; node < count(); ++node) {
    const std::string lines = std::string(redis::queue_prefix) + "*";
    if (!reply_to(node, {"KEYS", lines}).elements.empty()) return true;
  }
  return false;
}

std::vector<std::int64_t> Nodes::slow_calls() const {
  std::vector<std::int64_t> calls;
  for (int node = 0; node < count(); ++node) {
    // Each entry has its number, its time, the microseconds that it took, and its words.
    for (const test::Reply& entry : reply_to(node, {"SLOWLOG", "GET", "100000"}).elements) {
      const std::string& command = entry.elements.at(3).elements.at(0).text;
      if (command.starts_with("EVAL")) calls.push_back(entry.elements.at(2).integer);
    }
  }
  return calls;
}

std::int64_t Nodes::commands() const {
  std::int64_t commands = 0;
  for (int node = 0; node < count(); ++node) {
    const std::string text = reply_to(node, {"INFO", "commandstats"}).text;
    for (const char* name : {"evalsha", "eval", "subscribe"}) {
      const std::string mark = "cmdstat_" + std::string(name) + ":calls=";
      commands += static_cast<std::int64_t>(number_in(text, mark));
    }
  }
  return commands;
}

Work Nodes::work() const {
  Work work;
  for (int node = 0; node < count(); ++node) {
    const std::string text = reply_to(node, {"INFO", "cpu", "stats", "commandstats"}).text;
    work.cpu_us += 1e6 * (number_in(text, "used_cpu_sys:") + number_in(text, "used_cpu_user:"));
    work.bytes += number_in(text, "total_net_input_bytes:");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      // The bench itself asks for INFO.
      if (!line.starts_with("cmdstat_") || line.starts_with("cmdstat_info:")) continue;
      double& into = line.starts_with("cmdstat_evalsha:") ? work.script_us : work.command_us;
      into += number_in(line, "usec=");
    }
    // The server counts this answer only after it has written the figures into it.
    work.bytes += number_in(text, "total_net_output_bytes:") + static_cast<double>(text.size());
  }
  return work;
}

int Nodes::holding(const std::string& pattern) const {
  int holding = 0;
  for (int node = 0; node < count(); ++node) {
    const std::vector<test::Reply> found = reply_to(node, {"KEYS", pattern}).elements;
    if (found.size() != 1) continue;
    const std::string& key = found.front().text;
    if (ask(node, {"GET", key}) == "quorumlock:readers") {
      const std::vector<test::Reply> readers =
          reply_to(node, {"ZRANGE", "quorumlock:readers:" + key, "0", "-1"}).elements;
      if (readers.size() == 1 && is_token(readers.front().text)) ++holding;
    } else {
      const test::Reply value = reply_to(node, {"GET", key});
      if (value.type == test::Reply::Type::string && is_token(value.text)) ++holding;
    }
  }
  return holding;
}

}  // namespace quorumlock::bench
