#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

// What is arranged in a history so that it meets one certain mistake; see draw_traps.cpp.
namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::NodeNames;

/// Called when an operator commits the change to this list. The first client, which has asked for
/// nothing so far, is given the list at the same moment, so it reads that the change is announced.
/// One node of both lists is slow to report that. Just before it does, the client asks for the
/// lock: the node that left grants, the client moves, and the other node of both lists answers only
/// then.
void World::move_at_commit(const NodeNames& list) {
  if (!draw_.moves_at_commit || asks_at_ != TrueTime::max() || healing_) return;
  std::vector<int> common;
  for (const std::string& name : list) {
    if (redis::is_member(first_list(), name)) common.push_back(server_named(name));
  }
  if (common.empty()) return;
  // A session looks at the nodes again after half a second, and a list is settled after max_ttl
  // with twice the margin.
  const TrueTime least = TrueTime(draw_.max_ttl) * 3 / 100;
  const TrueTime most = std::max<TrueTime>(least, 450ms);
  const TrueTime moves_at = now() + least + (most - least) * random_.between(0, 100) / 100;
  const int slow = common[random_.index(common.size())];
  ++figures_.faults;
  trace("FAULT client 1 moves to ", redis::names_in_words(list), " during the commit, and node ",
        slow + 1, " is slow to answer it");
  give_list(0, list);
  paths_[0][static_cast<std::size_t>(slow)].blocked_from = moves_at;
  asks_at_ = std::max(now(), moves_at - 2 * draw_span(draw_.delay));
  at(asks_at_, [this, common, slow] {
    if (healing_) return;
    for (const int node : common) {
      if (node != slow) paths_[0][static_cast<std::size_t>(node)].extra = 4 * draw_.delay;
    }
    for_client(0, clients_[0].life,
               [this] { acquire(clients_[0], core::Duration(), false).kept = true; });
  });
}

/// Called after each turn of a client. If it has just seen that a candidate's wait is over, it
/// often loses sight of the node, which often forgets it: what the client has seen is old.
void World::look_at_candidates(Client& client) {
  for (const int node : client.session->nodes()) {
    const int server = client.server_of(node);
    const redis::Enrolment& its = client.session->link(node).enrolment();
    const bool ripe = its.ripe() && its.standing() == redis::Enrolment::Standing::waiting;
    const bool before = std::exchange(ripe_[{client.number, server}], ripe);
    const bool shared = std::ranges::all_of(lists_, [server](const NodeNames& list) {
      return redis::is_member(list, name_of(server));
    });
    if (!ripe || before || !shared || healing_ || random_.one_in(4)) continue;
    ++figures_.faults;
    const bool will_forget = !random_.one_in(4);
    trace("FAULT client ", client.number + 1, " has seen the candidate of node ", server + 1,
          " wait long enough, and loses sight of it", will_forget ? "; the node will forget" : "");
    // This lasts for another wait, and until a repair no longer waits for the node's time.
    Path& path = paths_[client.number][static_cast<std::size_t>(server)];
    path.blocked_to = path.blocked_from = now() + 5 * TrueTime(draw_.max_ttl);
    path.lost = true;
    if (!will_forget) continue;
    after(draw_span(2 * draw_.delay), [this, server] {
      if (healing_) return;
      nodes_[static_cast<std::size_t>(server)].flush_all();
      forgets(server);
    });
  }
}

}  // namespace quorumlock::sim
