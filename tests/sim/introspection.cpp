#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/data_commands.hpp"
#include "sim/glob.hpp"
#include "sim/resp.hpp"
#include "sim/server.hpp"

// What a Server reports about itself: INFO, with the fields that clients may ask for, and CONFIG
// GET.
namespace quorumlock::sim {
namespace {

std::string yes_no(bool yes) {
  return yes ? "yes" : "no";
}
std::string one_zero(bool yes) {
  return yes ? "1" : "0";
}

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string section(const std::string& name, const Fields& fields) {
  std::string text = "# " + name + "\r\n";
  for (const auto& [field, value] : fields) text.append(field).append(":").append(value) += "\r\n";
  return text;
}

}  // namespace

std::string Server::info(const Words& words, TrueTime now) const {
  Fields replication = {{"role", conditions.replica ? "slave" : "master"}};
  if (conditions.replica) {
    replication.insert(replication.end(), {{"master_host", "127.0.0.1"},
                                           {"master_port", "1"},
                                           {"master_link_status", "down"},
                                           {"slave_read_only", "1"}});
  }
  replication.emplace_back("connected_slaves", std::to_string(replicas_));
  replication.emplace_back("master_replid", replication_id());
  replication.emplace_back("master_replid2", std::string(40, promoted_ ? 'a' : '0'));
  replication.emplace_back("second_repl_offset", promoted_ ? "1" : "-1");
  const std::int64_t uptime = wall_us(now) / 1000000 - run_began_us_ / 1000000;
  const std::vector<std::pair<std::string, Fields>> sections = {
      {"Server",
       {{"redis_version", "7.0.15"},
        {"redis_mode", "standalone"},
        {"run_id", run_id_},
        {"tcp_port", std::to_string(settings_.tcp_port)},
        {"uptime_in_seconds", std::to_string(uptime)}}},
      {"Clients", {{"connected_clients", std::to_string(connections_.size())}}},
      {"Memory",
       {{"maxmemory", one_zero(conditions.out_of_memory)}, {"maxmemory_policy", "noeviction"}}},
      {"Persistence",
       {{"loading", one_zero(conditions.loading)},
        {"rdb_last_bgsave_status", conditions.cannot_persist ? "err" : "ok"},
        {"aof_enabled", one_zero(writes())}}},
      {"Replication", replication},
      {"Cluster", {{"cluster_enabled", "0"}}},
  };
  std::string text;
  for (const auto& [name, fields] : sections) {
    const auto asked = [&name](const std::string& word) {
      return data::lower(word) == data::lower(name);
    };
    if (words.size() > 1 && std::none_of(words.begin() + 1, words.end(), asked)) continue;
    text += (text.empty() ? "" : "\r\n") + section(name, fields);
  }
  return resp::bulk(text);
}

std::string Server::config_get(const Words& words) const {
  const std::array<std::pair<std::string, std::string>, 5> parameters = {{
      {"appendfsync", settings_.append_fsync},
      {"appendonly", yes_no(writes())},
      {"maxmemory", one_zero(conditions.out_of_memory)},
      {"maxmemory-policy", "noeviction"},
      {"no-appendfsync-on-rewrite", yes_no(settings_.no_append_fsync_on_rewrite)},
  }};
  std::vector<std::string> found;
  for (const auto& [name, value] : parameters) {
    const auto asked = [&name](const std::string& word) {
      return glob_match(data::lower(word), name);
    };
    if (std::none_of(words.begin() + 2, words.end(), asked)) continue;
    found.push_back(resp::bulk(name));
    found.push_back(resp::bulk(value));
  }
  return resp::array(found);
}

}  // namespace quorumlock::sim
