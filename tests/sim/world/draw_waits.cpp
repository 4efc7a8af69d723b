#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

// Draws about nodes that forgot, and how they come back.
namespace quorumlock::sim {

using namespace std::chrono_literals;

void draw_stale_sources(Draw& draw, test::SeededRandom& random) {
  draw.nodes = 5;
  draw.clients = 4;
  draw.keys = 2;
  draw.stale_source = draw.low_counters = true;
  draw.uneven_paths = false;
  draw.sane_wall_clocks = random.one_in(2);
  draw.delay = random.one_in(2) ? 200us : random.between(1, 3) * 1ms;
  draw.ttl = draw.max_ttl = draw.node_timeout = random.between(10, 30) * 100ms;
  draw.hold = draw.every = draw.ttl;
  draw.pause = draw.ttl / 20;
  draw.until = 5 * draw.max_ttl;
  draw.between_faults = 100 * draw.until;
  draw.faults = {Fault::flush, Fault::crash, Fault::delay};
}

}  // namespace quorumlock::sim
