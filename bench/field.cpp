#include "field.hpp"

#include <stdexcept>

#include "workload.hpp"

namespace quorumlock::bench {
namespace {

/// Removes the suffixes that describe nodes from a name, and returns their settings.
NodesSettings take_settings(std::string& name, NodesSettings settings) {
  for (std::size_t plus = name.rfind('+'); plus != name.npos; plus = name.rfind('+')) {
    const std::string word = name.substr(plus + 1);
    if (word == "durable") {
      settings.durable = true;
    } else if (word == "unix") {
      settings.unix_sockets = true;
    } else if (word == "far") {
      settings.away = std::chrono::microseconds(100);
    } else if (word == "tls") {
      settings.tls = true;
    } else {
      throw std::runtime_error("no nodes are +" + word);
    }
    name.resize(plus);
  }
  if (const std::size_t at = name.find('@'); at != name.npos) {
    const std::size_t times = name.find('x', at);
    settings.count = std::stoi(name.substr(at + 1));
    settings.groups = times == name.npos ? 1 : std::stoi(name.substr(times + 1));
    settings.count *= settings.groups;
    if (settings.groups < 1 || settings.count < 1 || settings.count > 32) {
      throw std::runtime_error("1 to 32 nodes: " + name);
    }
    name.resize(at);
  }
  if (settings.away.count() > 0) settings.proxied = settings.count;
  return settings;
}

}  // namespace

Field::Field(NodesSettings usual, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string kind = name;
    const NodesSettings settings = take_settings(kind, usual);
    Nodes& mine = nodes.try_emplace(settings, settings).first->second;
    if (settings.groups > 1 && !kind.starts_with("quorumlock")) {
      throw std::runtime_error(kind + " knows of no groups: " + name);
    }
    if (settings.tls && kind == "floor") throw std::runtime_error("the floor has no TLS: " + name);
    members.push_back({name, &mine, make_contender(kind, mine)});
    Contender& contender = *members.back().contender;
    run_cycles(contender, 1, 200);
    idle(contender, 10);  // pending writes
  }
}

}  // namespace quorumlock::bench
