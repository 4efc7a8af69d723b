#include <algorithm>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

/// Draws a client that waits for many locks which another one holds, and nodes for which as many
/// commands as there are waiters are up to 20 times what they can do in node_timeout. With fewer
/// waiters than a window is wide, nothing has narrowed it when the nodes become slow, so that all
/// attempts are sent at once, before a renewal: a lease then lives for as long as a node takes for
/// 140 commands, in place of 100.
void draw_hand_overs(Draw& draw, test::SeededRandom& random) {
  draw.nodes = random.one_in(4) ? 5 : 3;
  draw.clients = 2;
  draw.fencing = !random.one_in(6);
  draw.durable = true;
  draw.uneven_paths = false;
  draw.low_counters = false;
  draw.delay = random.between(1, 10) * 1ms;
  draw.node_timeout = 500ms;
  const bool many = random.one_in(2);
  draw.crowd = many ? random.between(100, 150) : random.between(50, 100);
  draw.crowd_keys = random.one_in(6) ? 1 : random.one_in(3) ? draw.crowd / 10 : draw.crowd;
  draw.service =
      many ? 2 * draw.node_timeout / draw.crowd : draw.node_timeout / random.between(8, 15) / 10;
  if (random.one_in(2)) draw.service *= 10;
  draw.ttl = std::max((many ? 100 : 140) * draw.service, 8 * draw.node_timeout);
  draw.max_ttl = std::max<core::Duration>(draw.ttl, 40 * draw.crowd * draw.service);
  draw.hold = draw.every = 10 * draw.delay;
  draw.pause = std::max<core::Duration>(draw.delay, 50ms);
  draw.until = draw.between_faults = draw.every * 2;
  // Of many that wait in no order for one lock, each has to look at the right moment.
  draw.in_order = draw.crowd_keys == draw.crowd && random.one_in(3) ? 0 : 100;
  draw.entry_life = 3s;
}

}  // namespace quorumlock::sim
