#include "sim/introspection.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/data_commands.hpp"
#include "sim/glob.hpp"
#include "sim/resp.hpp"
#include "sim/server.hpp"

namespace quorumlock::sim {
namespace {

std::string_view yes_no(bool yes) {
  return yes ? "yes" : "no";
}
std::string_view one_zero(bool yes) {
  return yes ? "1" : "0";
}

bool is_word(std::string_view name, std::string_view word) {
  return word.size() == name.size() && data::lower(word) == data::lower(name);
}

}  // namespace

std::string info(const Server& server, const Words& words, TrueTime now) {
  const ServerRun& run = server.run();
  const Conditions& conditions = server.conditions;
  std::string text;
  const auto begin = [&](std::string_view section) {
    const auto asked = [section](const std::string& word) { return is_word(section, word); };
    if (words.size() > 1 && std::none_of(words.begin() + 1, words.end(), asked)) return false;
    text.append(text.empty() ? "# " : "\r\n# ").append(section).append("\r\n");
    return true;
  };
  const auto add = [&text](std::string_view field, std::string_view value) {
    text.append(field).append(":").append(value).append("\r\n");
  };
  if (begin("Server")) {
    add("redis_version", "7.0.15");
    add("redis_mode", "standalone");
    add("run_id", run.id());
    add("tcp_port", std::to_string(server.settings().tcp_port));
    add("uptime_in_seconds", std::to_string(run.uptime_s(server.wall_us(now))));
  }
  if (begin("Clients")) add("connected_clients", std::to_string(server.connections.size()));
  if (begin("Memory")) {
    add("maxmemory", one_zero(conditions.out_of_memory));
    add("maxmemory_policy", "noeviction");
  }
  if (begin("Persistence")) {
    add("loading", one_zero(conditions.loading));
    add("rdb_last_bgsave_status", conditions.cannot_persist ? "err" : "ok");
    add("aof_enabled", one_zero(server.writes()));
  }
  if (begin("Replication")) {
    add("role", conditions.replica ? "slave" : "master");
    if (conditions.replica) {
      add("master_host", "127.0.0.1");
      add("master_port", "1");
      add("master_link_status", "down");
      add("slave_read_only", "1");
    }
    add("connected_slaves", "0");
    add("master_replid", run.replication_id());
    add("master_replid2", std::string(40, run.promoted() ? 'a' : '0'));
    add("second_repl_offset", run.promoted() ? "1" : "-1");
  }
  if (begin("Cluster")) add("cluster_enabled", "0");
  return resp::bulk(text);
}

std::string config_get(const Server& server, const Words& words) {
  Words patterns;
  for (std::size_t i = 2; i < words.size(); ++i) patterns.push_back(data::lower(words[i]));
  std::vector<std::string_view> found;
  const auto add = [&](std::string_view name, std::string_view value) {
    const auto asked = [name](const std::string& pattern) { return glob_match(pattern, name); };
    if (std::ranges::any_of(patterns, asked)) found.insert(found.end(), {name, value});
  };
  add("appendfsync", server.settings().append_fsync);
  add("appendonly", yes_no(server.writes()));
  add("maxmemory", one_zero(server.conditions.out_of_memory));
  add("maxmemory-policy", "noeviction");
  add("no-appendfsync-on-rewrite", yes_no(server.settings().no_append_fsync_on_rewrite));
  std::string reply;
  resp::append_line(reply, '*', static_cast<std::int64_t>(found.size()));
  for (const std::string_view text : found) resp::append_bulk(reply, text);
  return reply;
}

}  // namespace quorumlock::sim
