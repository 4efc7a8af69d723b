#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

// Draws about certain changes of the list of nodes, and about lists that are founded anew.
namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// The lists of a history: the first one, and those that follow.
struct Shape {
  int nodes;
  int spares;
  std::vector<std::string> plan;
};

/// Draws nodes that forget just after an operator's step, or after a vote.
void draw_forgetting_steps(Draw& draw, test::SeededRandom& random) {
  if (random.one_in(4)) return;
  draw.faults.push_back(random.one_in(4) ? Fault::crash : Fault::flush);
  draw.faults_follow_steps = !random.one_in(4);
  draw.forgets_after = static_cast<Step>(random.index(step_kinds));
  draw.faults_follow_votes = random.one_in(3) || !draw.faults_follow_steps;
}

void draw_a_change(Draw& draw, test::SeededRandom& random, const Shape& shape) {
  draw_a_change(draw, random, shape.nodes, shape.spares, shape.plan);
}

}  // namespace

/// Draws volatile nodes with small counters, which messages reach fast, and clients that ask for
/// the lock at every event.
void draw_a_change(Draw& draw, test::SeededRandom& random, int nodes, int spares,
                   std::vector<std::string> plan) {
  draw.nodes = nodes;
  draw.spares = spares;
  draw.plan = std::move(plan);
  draw.operators = 1;
  draw.clients = random.between(2, 4);
  draw.durable = false;
  draw.low_counters = true;
  draw.nodes_agree = random.one_in(2);
  draw.sane_wall_clocks = random.one_in(4);
  draw.uneven_paths = random.one_in(3);
  // Clients look once a second at a node that does not vote, and leases live for longer.
  draw.ttl = draw.max_ttl = random.between(4, 16) * 250ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 3) * 1ms;
  draw.hold = draw.ttl * random.between(2, 20) / 10;
  draw.every = draw.ttl * random.between(1, 4) / 2;
  draw.pause = std::max(draw.delay, draw.ttl / 10);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * random.between(6, 14);
  draw.between_faults = draw.until;
  draw.between_changes = draw.ttl / 4;
  draw.between_looks = std::max(draw.delay * 4, draw.ttl / random.between(20, 200));
  draw.rivals_watch = !random.one_in(4);
  draw.blind_for_good = !random.one_in(4);
  draw.blind_spots = random.one_in(6);
  draw.lists_differ = !random.one_in(3);
  if (random.one_in(3)) draw.deaf = std::to_string(random.between(1, draw.nodes));
  if (random.one_in(6)) draw.deaf += std::to_string(random.between(1, draw.nodes));
  draw.told = static_cast<Step>(random.index(step_kinds));
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
}

void draw_members(Draw& draw, test::SeededRandom& random) {
  constexpr int sizes[] = {2, 3, 3, 3, 3, 4, 4, 5};
  draw.nodes = sizes[random.index(std::size(sizes))];
  draw.spares = random.between(1, 2);
  draw.operators = random.one_in(3) ? 2 : 1;
  draw.clients = random.between(2, 4);
  draw.durable = random.one_in(4);
  draw.low_counters = random.one_in(2);
  draw.sane_wall_clocks = random.one_in(2);
  draw.nodes_agree = random.one_in(2);
  draw.uneven_paths = random.one_in(3);
  draw.ttl = draw.max_ttl = random.between(2, 6) * 100ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(5, 20) / 10;
  draw.every = draw.ttl * random.between(1, 4) / 4;
  draw.pause = std::max(draw.delay, draw.ttl / 20);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * random.between(15, 40);
  draw.between_faults = draw.ttl * random.between(2, 6);
  draw.between_changes = draw.ttl * random.between(1, 4);
  draw.between_looks = draw.ttl;
  draw.blind_spots = !random.one_in(4);
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
  switch (random.between(1, 4)) {
    case 1:  // Changes follow one another.
      draw.between_changes = draw.ttl / 2;
      return;
    case 2:  // Nodes forget, most of them just after a vote.
      draw.durable = false;
      draw.faults.push_back(random.one_in(2) ? Fault::flush : Fault::crash);
      draw.faults_follow_votes = true;
      return;
    default: break;
  }
  constexpr Fault others[] = {Fault::crash,        Fault::flush, Fault::reset,  Fault::pause_client,
                              Fault::pause_node,   Fault::delay, Fault::refuse, Fault::fail_over,
                              Fault::client_crash, Fault::flush, Fault::crash};
  for (int more = random.between(1, 3); more > 0; --more) {
    draw.faults.push_back(others[random.index(std::size(others))]);
  }
  draw.faults_follow_votes = random.one_in(3);
}

void draw_replacing(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 1, {"124", "123"}},     {3, 1, {"124", "123"}},   {3, 1, {"124", "123"}},
      {5, 1, {"12346", "12345"}}, {4, 1, {"1235", "1234"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  if (random.one_in(4)) {
    // The node that leaves hears nothing, and clients move to the new list while they ask it.
    draw.lists_follow_requests = draw.blind_for_good = true;
    draw.deaf = std::to_string(draw.nodes);
    draw.told = Step::settled;
  }
  if (random.one_in(2)) draw_forgetting_steps(draw, random);
}

void draw_shrinking(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 0, {"12", "123"}},
      {3, 0, {"12", "123"}},
      {3, 0, {"12", "123"}},
      {4, 0, {"123", "1234"}},
      {5, 0, {"1234", "123", "12345"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  draw_forgetting_steps(draw, random);
  if (random.one_in(2)) return;
  // No client has the new list before it is settled.
  draw.lists_differ = false;
  draw.told = Step::settled;
}

void draw_in_a_row(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 2, {"124", "145", "124", "123"}},
      {3, 2, {"124", "145", "124", "123"}},
      {3, 2, {"124", "145", "124", "123"}},
      {3, 2, {"12345", "1245", "123"}},
      {2, 1, {"123", "12"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  draw.clients = random.between(3, 4);
  draw.until = draw.ttl * random.between(8, 14);
  if (random.one_in(3)) draw_forgetting_steps(draw, random);
}

void draw_forks(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {4, 0, {"123", "234"}},
      {4, 0, {"123", "234"}},
      {3, 2, {"124", "135"}},
      {5, 0, {"1234", "2345"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  draw.operators = 2;
  draw.clients = random.between(3, 4);
  // Each operator reaches about half of the nodes.
  draw.deaf.clear();
  for (int node = 1; node <= draw.nodes; ++node) {
    const auto wanted = static_cast<std::size_t>(draw.nodes / 2) - draw.deaf.size();
    const int left = draw.nodes - node + 1;
    if (random.between(1, left) <= static_cast<int>(wanted)) draw.deaf += std::to_string(node);
  }
  draw.lists_differ = !random.one_in(4);
  if (random.one_in(4)) draw_forgetting_steps(draw, random);
}

void draw_founding(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 1, {"124", "123"}},
      {3, 1, {"124", "123"}},
      {3, 1, {"124", "123"}},
      {3, 1, {"1234", "123"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  if (random.one_in(2)) draw.operators = 0;
  draw.lists_differ = draw.all_forget = true;
  draw.blind_for_good = random.one_in(6);
  draw.clients = random.between(2, 3);
  draw.every = draw.hold = draw.ttl;
  draw.between_faults = draw.ttl * random.between(2, 10) / 4;
  draw.faults.push_back(random.one_in(3) ? Fault::crash : Fault::flush);
  draw.faults_follow_votes = random.one_in(3);
}

void draw_redeployments(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 2, {"12345", "123"}},     {3, 2, {"12345", "123"}}, {3, 1, {"124", "123"}},
      {5, 2, {"1234567", "12345"}}, {1, 2, {"123", "1"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  draw.careful = true;
  draw.lists_differ = draw.blind_for_good = draw.rivals_watch = draw.blind_spots = false;
  draw.deaf.clear();
  draw.faults.clear();
  draw.told = Step::announced;
  draw.sane_wall_clocks = !random.one_in(4);
  draw.delay = draw.ttl / random.between(100, 400);
  draw.node_timeout = draw.delay * random.between(20, 60);
  draw.uneven_paths = false;
  draw.pause = 2 * draw.delay;
  draw.between_changes = draw.ttl / random.between(1, 8);
  draw.between_looks = draw.delay * random.between(1, 40);
}

void draw_unfenced(Draw& draw, test::SeededRandom& random) {
  static const Shape shapes[] = {
      {3, 2, {"12345", "123"}},
      {3, 1, {"124", "123"}},
      {1, 2, {"12", "123", "1"}},
  };
  draw_a_change(draw, random, shapes[random.index(std::size(shapes))]);
  draw.fencing = false;
  draw.in_order = random.one_in(4) ? 50 : 0;
  draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 30) * 100ms);
}

/// All nodes forget at once after a greater max_ttl was settled, and a client that names the
/// smaller one founds the list anew beside a lease of before.
void draw_forgotten_terms(Draw& draw, test::SeededRandom& random) {
  draw.begins_other = draw.rivals_watch = draw.all_forget = true;
  draw.deaf.clear();
  draw.forgetters = draw.nodes == 3 ? "123" : "12345";
  draw.faults.push_back(Fault::forget_scripts);
  draw.between_changes = draw.ttl;
  draw.between_faults = draw.max_ttl * random.between(2, 6) / 4;
  draw.hold = draw.max_ttl * random.between(2, 8) / 4;
  draw.every = draw.ttl * random.between(1, 4) / 4;
}

/// Without fencing, max_ttl becomes shorter. A client that follows it has been connected to two of
/// three nodes since before, and asks for the lock when that is settled. One of the two then loses
/// its vote, and others let it in.
void draw_a_follower(Draw& draw, test::SeededRandom& random) {
  draw.nodes = 3;
  draw.plan = {"123"};
  draw.begins_other = draw.blind_spots = draw.blind_for_good = draw.uneven_paths = false;
  draw.deaf.clear();
  draw.faults = {Fault::crash};
  draw.faults_follow_steps = true;
  draw.faults_follow_votes = false;
  draw.forgets_after = Step::settled;
  draw.forgets_in = draw.ttl;
  draw.between_faults = draw.until;
  draw.blind = std::to_string(random.between(1, 3));
  draw.delay = 200us;
  draw.between_changes = draw.max_ttl / 8;
  draw.between_looks = draw.ttl / 20;
  draw.every = draw.ttl / 4;
  draw.hold = draw.max_ttl;
}

/// The nodes stay, and their terms change to and fro.
void draw_terms(Draw& draw, test::SeededRandom& random) {
  const bool three = !random.one_in(4);
  const std::string all = three ? "123" : "12345";
  draw_a_change(draw, random, three ? 3 : 5, 0, {all, all});
  draw.clients = random.between(3, 4);
  draw.lists_differ = false;
  draw.other_max_ttl = draw.ttl;
  draw.max_ttl = draw.ttl * random.between(2, 4);
  draw.begins_other = !random.one_in(3);
  draw.until = draw.max_ttl * random.between(4, 8);
  draw.between_faults = draw.until;
  draw.hold = draw.max_ttl * random.between(2, 20) / 10;
  draw.faults.clear();
  if (random.one_in(3)) {
    // Counters run out while nothing else goes wrong, and clients' clocks say nothing.
    draw.ttl = draw.other_max_ttl = random.between(2, 4) * 100ms;
    draw.max_ttl = draw.ttl * 5 / 4;
    draw.memory = std::chrono::ceil<std::chrono::seconds>(4 * draw.max_ttl);
    draw.other_memory = draw.memory * random.between(4, 12);
    if (random.one_in(3)) std::swap(draw.memory, draw.other_memory);
    draw.begins_other = random.one_in(2);
    draw.nodes_agree = true;
    draw.sane_wall_clocks = draw.uneven_paths = false;
    draw.hold = draw.ttl / 2;
    draw.every = std::min(draw.memory, draw.other_memory) * random.between(2, 5) / 4;
    draw.between_looks = draw.every * random.between(1, 4) / 4;
    draw.between_changes = draw.every;
    draw.node_timeout = draw.ttl;
    draw.pause = draw.ttl / 10;
    draw.until = draw.between_faults = draw.every * random.between(10, 25);
    return;
  }
  if (random.one_in(5)) return draw_forgotten_terms(draw, random);
  draw_forgetting_steps(draw, random);
  if (random.one_in(3)) {
    draw.blind_spots = true;
    draw.faults.push_back(Fault::partition);
  }
  draw.fencing = !random.one_in(4);
  if (!draw.fencing && random.one_in(2)) draw_a_follower(draw, random);
}

}  // namespace quorumlock::sim
