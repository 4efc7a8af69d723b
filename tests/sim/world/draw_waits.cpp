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

void draw_short_lives(Draw& draw, test::SeededRandom& random) {
  draw.nodes = random.one_in(3) ? 5 : 3;
  draw.clients = random.between(3, 4);
  draw.short_lives = true;
  draw.uneven_paths = false;
  draw.sane_wall_clocks = random.one_in(2);
  draw.delay = random.one_in(2) ? 200us : 1ms;
  draw.ttl = draw.max_ttl = random.between(4, 12) * 250ms;
  draw.node_timeout = draw.ttl / 2;
  draw.hold = draw.ttl * random.between(5, 15) / 10;
  draw.every = draw.ttl / random.between(4, 12);
  draw.pause = draw.ttl / 20;
  draw.until = 6 * draw.max_ttl;
  draw.between_faults = draw.until;
  draw.faults_follow_votes = draw.rivals_watch = true;
  draw.blind_spots = !random.one_in(4);
  draw.faults = {Fault::crash, Fault::client_crash};
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
}

/// Leases are often lost while the work is done, and records while they are on their way.
void draw_periods(Draw& draw, test::SeededRandom& random) {
  draw.nodes = random.one_in(5) ? 5 : 3;
  draw.clients = random.between(2, 4);
  draw.periods = true;
  draw.sane_wall_clocks = random.one_in(2);
  draw.low_counters = false;
  draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 10) * 1ms;
  draw.hold = draw.ttl * random.between(1, 12) / 10;
  draw.every = draw.hold / random.between(1, 3);
  draw.pause = draw.ttl / random.between(5, 50);
  draw.node_timeout = draw.ttl / random.between(1, 4);
  draw.until = draw.ttl * 16;
  draw.between_faults = draw.ttl / random.between(1, 4);
  draw.faults_follow_wins = random.one_in(3);
  draw.blind_spots = random.one_in(2);
  for (const Fault fault :
       {Fault::crash, Fault::flush, Fault::partition, Fault::delay, Fault::client_crash,
        Fault::pause_client, Fault::reset, Fault::refuse, Fault::drop_lock}) {
    if (random.one_in(3)) draw.faults.push_back(fault);
  }
  // A slow node with a narrow window is reminded of a long line too rarely for short lives.
  if (draw.order_holds()) draw.entry_life = draw.delay * 1200;
  if (!random.one_in(3)) return;
  // One node after the other forgets, each once the one before votes again. Clients lose sight of
  // nodes meanwhile, also of those that the others are repaired from.
  draw.nodes = 3;
  draw.ttl = draw.max_ttl = random.between(2, 5) * 100ms;
  draw.hold = draw.ttl / random.between(2, 8);
  draw.every = 2 * draw.hold;
  draw.until = 25s;
  draw.between_faults = 3s;
  draw.faults_follow_wins = false;
  draw.faults = {random.one_in(2) ? Fault::crash : Fault::flush};
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
}

}  // namespace quorumlock::sim
