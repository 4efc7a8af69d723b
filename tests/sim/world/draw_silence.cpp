#include <algorithm>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

/// Draws one client, and nodes that fall silent in the middle of whatever they are asked.
void draw_silence(Draw& draw, test::SeededRandom& random) {
  draw.nodes = random.one_in(4) ? 3 : random.one_in(4) ? 7 : 5;
  draw.clients = 1;  // no other client holds a lock, and votes do not split
  draw.keys = random.between(1, 2);
  draw.silences = true;
  draw.fencing = !random.one_in(6);
  draw.uneven_paths = false;
  draw.durable = true;
  draw.delay = random.between(1, 10) * 1ms;
  draw.node_timeout = draw.delay * random.between(200, 400);
  draw.ttl = draw.max_ttl = draw.delay * random.between(150, 1500);
  draw.hold = draw.delay * random.between(20, 200);
  draw.every = draw.hold;
  draw.until = draw.node_timeout * random.between(5, 15);
  draw.between_faults = draw.until;
  draw.entry_life = std::max<core::Duration>(draw.delay * 50, 300ms);
}

/// Draws clients that do nothing for so long that something on the path forgets their connections.
/// Half of the draws have a single client, so that it is clear how long it may have to wait.
void draw_idleness(Draw& draw, test::SeededRandom& random) {
  draw.nodes = random.one_in(4) ? 3 : 5;
  draw.clients = random.one_in(2) ? 1 : random.between(2, 3);
  draw.keys = random.between(1, 2);
  draw.forgetful_paths = true;
  draw.fencing = !random.one_in(6);
  draw.uneven_paths = false;
  draw.delay = random.between(1, 5) * 1ms;
  draw.node_timeout = random.between(5, 10) * 100ms;
  // Some leases, too, live that long without a renewal.
  draw.ttl = draw.max_ttl = random.between(2, 60) * 1s;
  draw.hold = random.one_in(2) ? draw.delay * random.between(20, 200) : 20s;
  draw.every = random.between(10, 40) * 1s;
  draw.pause = 2s;  // the pause before an attempt that no event brings forward
  draw.until = draw.every * 6;
  draw.between_faults = draw.until;
  draw.entry_life = 6s;
  draw.in_order = random.one_in(3) ? 0 : random.between(1, 100);
}

}  // namespace quorumlock::sim
