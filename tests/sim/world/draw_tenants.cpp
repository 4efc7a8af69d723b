#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

Draw draw_tenants(test::SeededRandom& random) {
  Draw draw;
  draw.nodes = random.one_in(5) ? 5 : 3;
  draw.clients = 4;
  draw.keys = 2;
  draw.tenants = true;
  draw.odd_counter = random.one_in(3);
  draw.nodes_agree = !random.one_in(4);
  draw.uneven_paths = random.one_in(2);
  draw.late_comer = random.one_in(2);
  draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(1, 10) / 20;
  draw.every = draw.hold * random.between(1, 3);
  draw.pause = draw.ttl / random.between(5, 50);
  draw.node_timeout = draw.ttl;
  draw.until = draw.between_faults = draw.ttl * 8;
  draw.faults_follow_votes = true;
  draw.blind_spots = random.one_in(2);
  draw.faults = {random.one_in(3) ? Fault::crash : Fault::flush};
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
  if (random.one_in(2)) draw.faults.push_back(Fault::operators_away);
  return draw;
}

/// Every other client selects another database of the first node, where it finds nothing. If that
/// were the same member, two clients would each have its vote.
void draw_databases(Draw& draw, test::SeededRandom& random) {
  draw.nodes = 3;
  draw.clients = random.between(2, 4);
  draw.other_databases = draw.durable = true;
  draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(5, 20) / 10;
  draw.every = draw.hold / random.between(1, 3);
  draw.pause = draw.ttl / random.between(5, 50);
  draw.node_timeout = draw.ttl;
  draw.until = draw.between_faults = draw.ttl * 20;
  draw.blind_spots = true;
  draw.faults = {Fault::partition};
}

namespace {

/// A node has, again and again, a counter or a floor that somebody has made up, while clients lose
/// sight of nodes, others forget, or the list changes.
void draw_made_up_numbers(Draw& draw, test::SeededRandom& random) {
  const bool changes = random.one_in(2);
  if (changes) {
    draw_a_change(draw, random, 5, 0, {"345"});
    draw.deaf.clear();
  } else {
    draw.nodes = random.one_in(3) ? 3 : 5;
    draw.clients = random.between(2, 4);
    draw.low_counters = random.one_in(2);
    draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
    draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
    draw.hold = draw.ttl * random.between(2, 20) / 10;
    draw.every = draw.hold / random.between(1, 3);
    draw.pause = draw.ttl / random.between(5, 50);
    draw.node_timeout = draw.ttl;
    draw.until = draw.ttl * 20;
  }
  draw.between_faults = draw.ttl;
  draw.faults = {Fault::make_up, Fault::partition};
  if (draw.nodes == 5 && !random.one_in(3)) draw.faults.push_back(Fault::flush);
}

}  // namespace

/// A node says, again and again, whatever somebody has made up, and nothing else goes wrong but
/// that clients lose sight of nodes. Or the change from five nodes to three is announced, that node
/// says that it is settled, and the two others of the three forget.
void draw_forgeries(Draw& draw, test::SeededRandom& random) {
  if (random.one_in(3)) return draw_made_up_numbers(draw, random);
  const bool changes = random.one_in(2);
  draw.nodes = changes || random.one_in(3) ? 5 : 3;
  draw.clients = random.between(2, 4);
  draw.low_counters = random.one_in(2);
  draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(5, 20) / 10;
  draw.every = draw.hold / random.between(1, 3);
  draw.pause = draw.ttl / random.between(5, 50);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * 20;
  draw.between_faults = draw.ttl;
  draw.blind_spots = true;
  draw.faults = {Fault::forge, Fault::partition};
  if (!changes) {
    draw.durable = true;
    return;
  }
  draw.plan = {"345"};
  draw.begins_announced = true;
  draw.lists = "0101";
  draw.forgetters = "34";
  draw.all_forget = random.one_in(2);
  draw.faults.push_back(Fault::flush);
}

}  // namespace quorumlock::sim
