#include "sim/world/traps.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::NodeNames;

void Traps::move_at_commit(const NodeNames& list) {
  if (!draw_.moves_at_commit || asks_at_ != TrueTime::max() || scene_.healing) return;
  std::vector<int> common;
  for (const std::string& name : list) {
    if (redis::is_member(world_.lists.first(), name)) common.push_back(server_named(name));
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
  world_.lists.give(0, list);
  world_.paths.between(0, slow).blocked_from = moves_at;
  asks_at_ = std::max(now(), moves_at - 2 * draw_span(draw_.delay));
  at(asks_at_, [this, common, slow] {
    if (scene_.healing) return;
    for (const int node : common) {
      if (node != slow) world_.paths.between(0, node).extra = 4 * draw_.delay;
    }
    world_.processes.run(0, clients_[0].life, [this] {
      world_.users.acquire(clients_[0], core::Duration(), false).kept = true;
    });
  });
}

void Traps::look_at_candidates(Client& client) {
  for (const int node : client.session->nodes()) {
    const int server = client.server_of(node);
    const redis::Enrolment& its = client.session->link(node).enrolment();
    const bool ripe = its.ripe() && its.standing() == redis::Enrolment::Standing::quarantined;
    const bool before = std::exchange(ripe_[{client.number, server}], ripe);
    const bool shared = std::ranges::all_of(world_.lists.wanted(), [server](const NodeNames& list) {
      return redis::is_member(list, name_of(server));
    });
    if (!ripe || before || !shared || scene_.healing || random_.one_in(4)) continue;
    ++figures_.faults;
    const bool will_forget = !random_.one_in(4);
    trace("FAULT client ", client.number + 1, " has seen the candidate of node ", server + 1,
          " wait long enough, and loses sight of it", will_forget ? "; the node will forget" : "");
    // This lasts for another wait, and until a repair no longer waits for the node's time.
    world_.paths.hide(client.number, server, now() + 5 * TrueTime(draw_.max_ttl));
    if (!will_forget) continue;
    after(draw_span(2 * draw_.delay), [this, server] {
      if (scene_.healing) return;
      node_at(server).data.clear();
      world_.faults.forgets(server);
    });
  }
}

}  // namespace quorumlock::sim
