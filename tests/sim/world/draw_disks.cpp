#include <algorithm>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void draw_disks(Draw& draw, test::SeededRandom& random) {
  constexpr Fault of_disks[] = {Fault::stop_writing, Fault::copy_directory, Fault::promote_replica,
                                Fault::follow_another, Fault::fail_back};
  draw.nodes = random.one_in(4) ? 5 : 3;
  draw.durable = true;
  draw.ttl = draw.max_ttl = random.between(2, 6) * 100ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(5, 20) / 10;
  draw.every = draw.ttl * random.between(1, 3) / 4;
  draw.pause = std::max(draw.delay, draw.ttl / 20);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * 20;
  draw.between_faults = draw.ttl * random.between(2, 5);
  draw.blind_spots = !random.one_in(4);
  draw.faults = {of_disks[random.index(std::size(of_disks))]};
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
  if (random.one_in(3)) draw.faults.push_back(of_disks[random.index(std::size(of_disks))]);
  if (random.one_in(3)) draw.faults.push_back(Fault::crash);
}

}  // namespace quorumlock::sim
