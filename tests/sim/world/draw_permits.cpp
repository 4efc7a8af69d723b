#include <algorithm>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void draw_permits(Draw& draw, test::SeededRandom& random) {
  draw.clients = random.between(2, 5);
  draw.keys = random.one_in(6) ? 2 : 1;
  draw.capacity = random.between(1, 4);
  draw.capacities_differ = random.one_in(5);
  draw.fencing = !random.one_in(10);
  draw.sane_wall_clocks = random.one_in(2);
  draw.low_counters = random.one_in(2);
  draw.nodes_agree = random.one_in(3);
  draw.ttl = draw.max_ttl = random.between(2, 8) * 1s;
  draw.delay = random.between(1, 20) * 1ms;
  draw.hold = draw.delay * random.between(1, 40);
  draw.every = draw.hold / random.between(1, 4);
  draw.pause = std::max(draw.delay, core::Duration(20ms));
  draw.node_timeout = 500ms;
  draw.until = draw.delay * random.between(50, 200);
  draw.in_order = random.one_in(3) ? 100 : random.between(0, 100);
  draw.uneven_paths = random.one_in(3);
  draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 10) * 100ms);
  if (random.one_in(2)) {
    for (const Fault fault : {Fault::crash, Fault::pause_client, Fault::pause_node, Fault::reset,
                              Fault::delay, Fault::partition, Fault::client_crash, Fault::refuse,
                              Fault::forget_scripts, Fault::flush}) {
      if (random.one_in(3)) draw.faults.push_back(fault);
    }
    if (random.one_in(2)) {
      // Leases end by themselves, and nodes forget in the meantime.
      draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
      draw.hold = draw.ttl * random.between(2, 20) / 10;
      draw.every = draw.ttl / 4;
      draw.node_timeout = draw.ttl;
      draw.until = draw.ttl * 8;
      draw.between_faults = draw.ttl / random.between(1, 4);
    }
  }
  if (!draw.faults.empty()) return;
  draw.entry_life = draw.delay * 1200;
  if (random.one_in(2)) return;
  // Holders keep their permits so long that a free permit that no waiter takes is noticed.
  draw.hold = draw.delay * random.between(300, 600);
  draw.every = draw.hold / random.between(2, 8);
  draw.until = draw.hold * 4;
}

}  // namespace quorumlock::sim
