#include "nodes.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "local/enroll.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::bench {
namespace {

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(void* reply) const { freeReplyObject(reply); }
};

/// One command on a connection of its own.
std::unique_ptr<redisReply, Free> ask_for(const Nodes& nodes, int node,
                                          const std::vector<std::string>& words) {
  const std::unique_ptr<redisContext, Free> context(
      nodes.port(node) != 0 ? redisConnect("127.0.0.1", nodes.port(node))
                            : redisConnectUnix(nodes.path(node).c_str()));
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  std::unique_ptr<redisReply, Free> reply;
  if (context != nullptr && context->err == 0) {
    reply.reset(static_cast<redisReply*>(redisCommandArgv(
        context.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
  }
  if (reply == nullptr) throw std::runtime_error("a node does not answer " + words.front());
  return reply;
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

Nodes::Nodes(NodesSettings settings) : settings_(settings) {
  const std::vector<int> ports = free_ports(count());
  std::vector<local::ServerSettings> servers;
  for (int node = 0; node < count(); ++node) {
    const bool unix_socket = settings.unix_sockets || is_proxied(node);
    servers.push_back({.dir = dir_.path() / std::to_string(node + 1),
                       .port = unix_socket ? 0 : ports.at(static_cast<std::size_t>(node)),
                       .durable = settings.durable,
                       .more = settings.more});
  }
  servers_ = local::Server::start_all(std::move(servers));
  if (settings.proxied) {
    proxy_ = std::make_unique<chaos::Proxy>(
        std::vector{dir_.path() / std::to_string(count()) / "redis.sock"});
  }
  for (int node = 0; node < count(); ++node) {
    ask_for(*this, node, {"SCRIPT", "LOAD", std::string(redis::release_script.source)});
  }
  local::enroll_new(options());
}

Options Nodes::options() const {
  Options options;
  options.max_ttl = settings_.max_ttl;
  options.ttl = std::min(options.ttl, options.max_ttl);
  options.nodes = urls();
  for (int node = 0; settings_.groups > 1 && node < count(); ++node) {
    const std::string number = std::to_string(node % settings_.groups + 1);
    options.groups[number].push_back(options.nodes[static_cast<std::size_t>(node)]);
  }
  if (settings_.groups > 1) options.nodes.clear();
  return options;
}

std::vector<std::string> Nodes::urls() const {
  std::vector<std::string> urls;
  for (const local::Server& server : servers_) urls.push_back(server.url());
  if (proxy_ != nullptr) urls.back() = proxy_->url(0);
  return urls;
}

int Nodes::port(int node) const {
  if (is_proxied(node)) return std::stoi(proxy_->url(0).substr(proxy_->url(0).rfind(':') + 1));
  return servers_[static_cast<std::size_t>(node)].settings().port;
}

std::string Nodes::path(int node) const {
  return (servers_[static_cast<std::size_t>(node)].settings().dir / "redis.sock").string();
}

std::string Nodes::ask(int node, const std::vector<std::string>& words) const {
  const auto reply = ask_for(*this, node, words);
  if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
  return reply->str != nullptr ? std::string(reply->str, reply->len) : std::string();
}

std::int64_t Nodes::keys() const {
  std::int64_t keys = 0;
  for (int node = 0; node < count(); ++node) {
    const std::string own = std::string(redis::own_prefix) + "*";
    keys += ask_for(*this, node, {"DBSIZE"})->integer;
    keys -= static_cast<std::int64_t>(ask_for(*this, node, {"KEYS", own})->elements);
  }
  return keys;
}

std::vector<std::int64_t> Nodes::slow_calls() const {
  std::vector<std::int64_t> calls;
  for (int node = 0; node < count(); ++node) {
    const auto log = ask_for(*this, node, {"SLOWLOG", "GET", "100000"});
    for (std::size_t i = 0; i < log->elements; ++i) {
      const redisReply& entry = *log->element[i];  // number, time, microseconds, words, ...
      const std::string_view command(entry.element[3]->element[0]->str);
      if (command.starts_with("EVAL")) calls.push_back(entry.element[2]->integer);
    }
  }
  return calls;
}

std::int64_t Nodes::commands() const {
  std::int64_t commands = 0;
  for (int node = 0; node < count(); ++node) {
    const auto reply = ask_for(*this, node, {"INFO", "commandstats"});
    const std::string text(reply->str, reply->len);
    for (const char* name : {"evalsha", "eval", "subscribe"}) {
      const std::string mark = "cmdstat_" + std::string(name) + ":calls=";
      const std::size_t at = text.find(mark);
      if (at != text.npos) commands += std::stoll(text.substr(at + mark.size()));
    }
  }
  return commands;
}

int Nodes::holding(const std::string& pattern) const {
  int holding = 0;
  for (int node = 0; node < count(); ++node) {
    const auto found = ask_for(*this, node, {"KEYS", pattern});
    if (found->elements != 1) continue;
    const std::string key(found->element[0]->str, found->element[0]->len);
    const auto type = ask_for(*this, node, {"TYPE", key});
    if (std::string_view(type->str) == "zset") {
      const auto readers = ask_for(*this, node, {"ZRANGE", key, "0", "-1"});
      if (readers->elements == 1 && readers->element[0]->len == 40) ++holding;
    } else {
      const auto reply = ask_for(*this, node, {"GET", key});
      if (reply->type == REDIS_REPLY_STRING && reply->len == 40) ++holding;
    }
  }
  return holding;
}

}  // namespace quorumlock::bench
