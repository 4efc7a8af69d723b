#include "sim/world/lists.hpp"

#include <algorithm>
#include <map>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {

using redis::NodeNames;

std::optional<redis::Membership> Lists::governing() const {
  std::map<std::uint64_t, std::pair<int, redis::Membership>> foundings;
  for (const Server& server : nodes_) {
    const std::optional<redis::Membership> its = membership_of(server, now());
    if (!its) continue;
    auto& [count, furthest] = foundings[its->founding];
    if (count++ == 0 || its->rank() > furthest.rank()) furthest = *its;
  }
  if (foundings.empty()) return std::nullopt;
  return std::ranges::max_element(foundings, {}, [](const auto& one) { return one.second.first; })
      ->second.second;
}

NodeNames Lists::first() const {
  NodeNames list;
  for (int node = 0; node < draw_.nodes; ++node) list.push_back(name_of(node));
  return list;
}

void Lists::plan() {
  lists_.push_back(first());
  for (const std::string& numbers : draw_.plan) want(named(numbers));
  const std::size_t least = draw_.operators > 1 ? 1 : 0;  // a fork's own lists matter most
  for (Client& client : clients_) {
    std::size_t its = draw_.lists_differ ? least + client.number : lists_.size();
    if (client.number < draw_.lists.size()) {
      its = static_cast<std::size_t>(draw_.lists[client.number] - '0');
    }
    if (its >= lists_.size()) continue;
    client.keeps_list = true;
    client.list.clear();
    for (const std::string& name : lists_[its]) {
      client.list.push_back(server_named(name));
    }
    client.begin_life(draw_, now());
  }
  for (const Client& client : clients_) {
    if (!draw_.blind_for_good || random_.one_in(2)) continue;
    const std::size_t node = random_.index(static_cast<std::size_t>(draw_.nodes));
    world_.paths.hide(client.number, static_cast<int>(node), draw_.until);
  }
  if (!draw_.all_forget) hide_nodes(draw_.until);
}

void Lists::hide_nodes(TrueTime until) {
  for (std::size_t i = 0; i < std::min(draw_.blind.size(), clients_.size()); ++i) {
    if (draw_.blind[i] == '0') continue;
    world_.paths.hide(i, draw_.blind[i] - '1', until);
  }
}

/// The list that an operator wants if there is a plan.
NodeNames Lists::next_of_plan(std::size_t before) {
  const std::vector<std::string>& plan = draw_.plan;
  if (draw_.operators > 1) return named(plan[before % plan.size()]);
  const std::optional<redis::Membership> present = governing();
  if (!present) return any_wanted();
  if (present->phase != ListPhase::settled) return present->to;
  return named(plan[present->epoch % plan.size()]);
}

NodeNames Lists::draw(std::size_t before) {
  if (!draw_.plan.empty()) return next_of_plan(before);
  const std::optional<redis::Membership> present = governing();
  if (!present || random_.one_in(8)) return any_wanted();
  if (present->phase != ListPhase::settled && random_.one_in(2)) return present->to;
  NodeNames list = present->to;
  for (int changes = random_.one_in(6) ? 2 : 1; changes > 0; --changes) {
    NodeNames spare;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const std::string name = name_of(static_cast<int>(node));
      if (std::ranges::find(list, name) == list.end()) spare.push_back(name);
    }
    const int what = random_.between(1, 3);
    const bool adds = !spare.empty() && what != 1;
    if (what != 2 && list.size() > (adds ? 1 : 2)) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.index(list.size())));
    }
    if (adds) list.push_back(spare[random_.index(spare.size())]);
  }
  std::ranges::sort(list);
  return list;
}

const NodeNames& Lists::any_wanted() {
  return lists_[random_.index(lists_.size())];
}

void Lists::want(const NodeNames& list) {
  if (std::ranges::find(lists_, list) == lists_.end()) lists_.push_back(list);
}

void Lists::settled(const NodeNames& list) {
  ++figures_.lists_settled;
  const NodeNames before = settled_.empty() ? first() : settled_;
  for (const std::string& name : redis::without(list, before)) {
    if (std::erase(removed_, name) > 0) ++figures_.returned;
  }
  for (const std::string& name : redis::without(before, list)) removed_.push_back(name);
  settled_ = list;
}

void Lists::may_differ(std::size_t client) {
  after(draw_span(4 * draw_.between_changes), [this, client] {
    if (scene_.healing || clients_[client].keeps_list) return;
    if (!world_.traps.is_quiet(clients_[client])) give(client, any_wanted());
    may_differ(client);
  });
}

void Lists::follow(std::size_t client) {
  if (!draw_.lists_follow_requests || scene_.healing || clients_[client].keeps_list) return;
  if (!random_.one_in(4)) return;
  after(draw_span(draw_.delay), [this, client] {
    if (scene_.healing) return;
    const std::optional<redis::Membership> present = governing();
    const bool newest = present && !random_.one_in(4);
    give(client, newest ? present->to : any_wanted());
  });
}

NodeNames Lists::of(const Client& client) const {
  NodeNames its;
  for (const int node : client.session->nodes()) its.push_back(name_of(client.server_of(node)));
  std::ranges::sort(its);
  return its;
}

bool Lists::have_moved_to(const NodeNames& list) const {
  return std::ranges::all_of(clients_, [&](const Client& client) {
    return client.session == nullptr || of(client) == list;
  });
}

void Lists::give(std::size_t number, const NodeNames& list) {
  std::vector<int> servers;
  for (const std::string& name : list) servers.push_back(server_named(name));
  Client& client = clients_[number];
  client.list = servers;
  trace("client ", number + 1, " is given the list ", redis::names_in_words(list));
  world_.processes.run(number, client.life, [this, number, servers] {
    Client& told = clients_[number];
    told.session->set_nodes(told.local(now()), told.links_to(servers, draw_));
  });
}

void Lists::give_all(const NodeNames& list) {
  for (const Client& client : clients_) give(client.number, list);
}

void Lists::tell_clients(const NodeNames& list) {
  for (const Client& client : clients_) {
    if (client.keeps_list || world_.traps.is_quiet(client)) continue;
    if (!draw_.careful && random_.one_in(6)) continue;
    after(draw_span(draw_.ttl), [this, number = client.number, list] {
      if (!scene_.healing) give(number, list);
    });
  }
}

}  // namespace quorumlock::sim
