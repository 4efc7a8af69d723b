#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

// Draws about leases: extends by token, and clients whose clock stands still.
namespace quorumlock::sim {

using namespace std::chrono_literals;

void draw_tokens(Draw& draw, test::SeededRandom& random) {
  draw.durable = true;
  draw.clients = random.between(2, 3);
  draw.ttl = draw.max_ttl = random.between(3, 10) * 100ms;
  draw.delay = random.between(1, 4) * 1ms;
  draw.hold = draw.ttl * random.between(10, 30) / 10;
  draw.every = draw.ttl * random.between(1, 3);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * 10;
  draw.between_faults = draw.ttl * 2;
  draw.by_token = random.between(20, 100);
  if (random.one_in(2)) draw.to_read = random.between(5, 30);
  if (random.one_in(2)) {
    draw.keys = 3;
    draw.sets = random.between(30, 100);
  }
  draw.faults = {Fault::drop_lock};
  for (const Fault fault : {Fault::client_crash, Fault::partition, Fault::pause_client}) {
    if (random.one_in(3)) draw.faults.push_back(fault);
  }
}

void draw_standstills(Draw& draw, test::SeededRandom& random) {
  draw.durable = true;
  draw.nodes = random.one_in(4) ? 5 : random.one_in(6) ? 1 : 3;
  draw.ttl = draw.max_ttl = random.between(5, 30) * 100ms;
  draw.delay = draw.ttl / random.between(50, 400);
  draw.hold = draw.ttl * random.between(2, 30) / 10;
  draw.pause = draw.ttl / 20;
  draw.node_timeout = draw.ttl / 2;
  draw.until = draw.ttl * 12;
  draw.between_faults = draw.ttl * 2;
  draw.by_token = random.one_in(2) ? random.between(1, 50) : 0;
  draw.blind_spots = random.one_in(2);
  draw.faults = {Fault::stand_still};
  for (const Fault fault : {Fault::partition, Fault::pause_client, Fault::reset, Fault::delay}) {
    if (random.one_in(3)) draw.faults.push_back(fault);
  }
}

void draw_more(Draw& draw, test::SeededRandom& random) {
  if (random.one_in(4)) draw.by_token = random.between(1, 100);
  if (random.one_in(16)) draw.faults.push_back(Fault::stand_still);
}

}  // namespace quorumlock::sim
