#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

// Which list of nodes operators want, and which one each client is given.
namespace quorumlock::sim {

using redis::MembersPhase;
using redis::NodeNames;

namespace {

/// The names of nodes of which a word has the numbers.
NodeNames named(const std::string& numbers) {
  NodeNames list;
  for (const char number : numbers) list.push_back(std::string("n") + number);
  return list;
}

}  // namespace

/// The state that governs: of the founding that most nodes have, the one furthest on. Nothing if no
/// node has a record.
std::optional<redis::Membership> World::governing() const {
  std::map<std::uint64_t, std::pair<int, redis::Membership>> foundings;
  for (const Server& server : nodes_) {
    const std::optional<redis::Membership> its = membership_of(server);
    if (!its) continue;
    auto& [count, furthest] = foundings[its->founding];
    if (count++ == 0 || its->rank() > furthest.rank()) furthest = *its;
  }
  if (foundings.empty()) return std::nullopt;
  return std::ranges::max_element(foundings, {}, [](const auto& one) { return one.second.first; })
      ->second.second;
}

NodeNames World::first_list() const {
  NodeNames list;
  for (int node = 0; node < draw_.nodes; ++node) list.push_back(name_of(node));
  return list;
}

/// Which lists there are from the beginning, which of them some clients have to the end, and which
/// node some clients never see.
void World::plan_lists() {
  lists_.push_back(first_list());
  for (const std::string& numbers : draw_.plan) {
    const NodeNames list = named(numbers);
    if (std::ranges::find(lists_, list) == lists_.end()) lists_.push_back(list);
  }
  const std::size_t first = draw_.operators > 1 ? 1 : 0;  // a fork's own lists matter most
  for (Client& client : clients_) {
    std::size_t its = draw_.lists_differ ? first + client.number : lists_.size();
    if (client.number < draw_.lists.size()) {
      its = static_cast<std::size_t>(draw_.lists[client.number] - '0');
    }
    if (its >= lists_.size()) continue;
    client.keeps_list = true;
    client.list.clear();
    for (const std::string& name : lists_[its]) {
      client.list.push_back(server_named(name));
    }
    client.begin_life(draw_);
  }
  for (std::vector<Path>& paths : paths_) {
    if (!draw_.blind_for_good || random_.one_in(2)) continue;
    Path& path = paths[random_.index(static_cast<std::size_t>(draw_.nodes))];
    path.blocked_to = path.blocked_from = draw_.until;
    path.lost = true;
  }
  if (!draw_.all_forget) hide_nodes(draw_.until);
}

/// Hides from each client the node that the draw names, until this time.
void World::hide_nodes(TrueTime until) {
  for (std::size_t i = 0; i < std::min(draw_.blind.size(), paths_.size()); ++i) {
    if (draw_.blind[i] == '0') continue;
    Path& path = paths_[i][static_cast<std::size_t>(draw_.blind[i] - '1')];
    path.blocked_to = path.blocked_from = until;
    path.lost = true;
  }
}

/// The list that an operator wants if there is a plan.
NodeNames World::next_of_plan() {
  const std::vector<std::string>& plan = draw_.plan;
  if (draw_.operators > 1) return named(plan[operators_.size() % plan.size()]);
  const std::optional<redis::Membership> present = governing();
  if (!present) return lists_[random_.index(lists_.size())];
  if (present->phase != MembersPhase::settled) return present->to;
  return named(plan[present->epoch % plan.size()]);
}

/// Draws the list that an operator wants: one that was wanted before, the new list of a change that
/// is under way, or one that differs by a node or two from the list that governs.
NodeNames World::draw_list() {
  if (!draw_.plan.empty()) return next_of_plan();
  const std::optional<redis::Membership> present = governing();
  if (!present || random_.one_in(8)) return lists_[random_.index(lists_.size())];
  if (present->phase != MembersPhase::settled && random_.one_in(2)) return present->to;
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

/// Now and then a client is given one of the lists that were wanted so far.
void World::lists_may_differ(std::size_t client) {
  after(draw_span(4 * draw_.between_changes), [this, client] {
    if (healing_ || clients_[client].keeps_list) return;
    if (!is_quiet(clients_[client])) give_list(client, lists_[random_.index(lists_.size())]);
    lists_may_differ(client);
  });
}

/// A client is given a list in the middle of a round that it has just begun.
void World::lists_follow(std::size_t client) {
  if (!draw_.lists_follow_requests || healing_ || clients_[client].keeps_list) return;
  if (!random_.one_in(4)) return;
  after(draw_span(draw_.delay), [this, client] {
    if (healing_) return;
    const std::optional<redis::Membership> present = governing();
    const bool newest = present && !random_.one_in(4);
    give_list(client, newest ? present->to : lists_[random_.index(lists_.size())]);
  });
}

void World::give_list(std::size_t number, const NodeNames& list) {
  std::vector<int> servers;
  for (const std::string& name : list) servers.push_back(server_named(name));
  Client& client = clients_[number];
  client.list = servers;
  trace("client ", number + 1, " is given the list ", redis::names_in_words(list));
  for_client(number, client.life, [this, number, servers] {
    Client& told = clients_[number];
    told.session->set_nodes(told.local(now()), Client::links_to(servers, draw_));
  });
}

/// Gives most clients the new list, each at its own time.
void World::tell_clients(const NodeNames& list) {
  for (const Client& client : clients_) {
    if (client.keeps_list || is_quiet(client) || random_.one_in(6)) continue;
    after(draw_span(draw_.ttl), [this, number = client.number, list] {
      if (!healing_) give_list(number, list);
    });
  }
}

}  // namespace quorumlock::sim
