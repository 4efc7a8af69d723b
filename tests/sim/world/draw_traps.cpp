#include <algorithm>
#include <utility>

#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

// Draws that each aim at one mistake. They fix which nodes hear of a change of the list of nodes,
// which of them each client sees, and which forget at what step, so that the mistake does harm.
// Each draw is a history that the model of members.md has found for that mistake; everything else
// is left to chance.
namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

void draw_a_trap(Draw& draw, test::SeededRandom& random, int nodes, int spares,
                 std::vector<std::string> plan) {
  draw_a_change(draw, random, nodes, spares, std::move(plan));
  draw.faults.clear();
  draw.deaf.clear();
  draw.uneven_paths = draw.blind_spots = draw.blind_for_good = draw.lists_differ = false;
  draw.clients = 2;
  draw.lists = "01";
  draw.ttl = draw.max_ttl = draw.node_timeout = random.between(4, 8) * 250ms;
  draw.hold = draw.ttl * random.between(5, 15) / 10;
  draw.every = draw.ttl / 2;
  draw.pause = draw.ttl / 10;
  draw.until = draw.between_faults = draw.ttl * 12;
  draw.between_changes = draw.ttl * random.between(1, 6) / 4;
  draw.between_looks = std::max(draw.delay * 4, draw.ttl / random.between(20, 100));
  draw.rivals_watch = true;
}

void forgets_after(Draw& draw, Step step, core::Duration in) {
  draw.faults.push_back(Fault::flush);
  draw.faults_follow_steps = true;
  draw.forgets_after = step;
  draw.forgets_in = in;
}

/// One node of three is committed, an operator sees that, and the node forgets. Another one is
/// committed only after clients with the old list have enrolled the first one in its former state.
void draw_seen_once(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 1, {"124"});
  draw.deaf = "23";
  draw.deaf_from = Step::committed;
  forgets_after(draw, Step::committed, draw.between_looks * 3);
}

/// A client with the new list of two nodes sees one of them forget, and only the other one vouch
/// for it. The node that vouches has missed what the two others granted to a client with the old
/// list.
void draw_too_few_vouchers(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 0, {"12"});
  draw.blind = random.one_in(2) ? "20" : "10";
  draw.late_comer = true;
  draw.rivals_watch = false;
  draw.between_changes = draw.ttl;
  forgets_after(draw, random.one_in(2) ? Step::announced : Step::committed, 2 * draw.delay);
}

/// Two nodes of five do not hear of the commit. One of the others forgets after the new node has
/// been enrolled, and a client sees settled nodes next to one on which the change is announced.
void draw_unequal_vouchers(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 5, 1, {"12346"});
  draw.clients = 3;
  draw.lists = "011";
  draw.blind = "004";
  draw.deaf = "45";
  draw.deaf_from = Step::committed;
  draw.deaf_for_good = true;
  forgets_after(draw, Step::settled, 1500ms);
}

/// A client moves to the new list after the node that leaves has granted it the lock.
void draw_late_move(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 1, {"124"});
  draw.lists = "-1";
  draw.deaf = "3";
  draw.deaf_for_good = draw.moves_at_commit = true;
  draw.between_changes = draw.ttl * random.between(6, 12) / 4;
  draw.until = draw.ttl * 8;
  draw.every = draw.ttl * 2;
  draw.hold = draw.ttl / 20;
  draw.between_looks = draw.delay * 4;
}

/// Two nodes become five, and clients move to these while they ask the two.
void draw_move_in_a_round(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 2, 3, {"12345"});
  draw.lists.clear();
  draw.lists_follow_requests = true;
  draw.clients = random.between(2, 3);
  draw.every = draw.ttl / 4;
  draw.hold = draw.ttl / 2;
  draw.delay = draw.ttl / random.between(10, 40);
}

/// The two nodes that heard of a change forget after it is settled: one node remembers the old list
/// only, and one the new list.
void draw_two_foundings(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 1, {"124"});
  draw.clients = random.between(2, 3);
  draw.deaf = "3";
  draw.deaf_for_good = draw.all_forget = true;
  draw.forgetters = "12";
  draw.faults.push_back(Fault::forget_scripts);
  draw.between_changes = draw.ttl / 4;
  draw.between_faults = draw.ttl * 3;
  draw.until = draw.ttl * 16;
}

/// The one node that two lists share is restarted, and its disk still has its record. A client with
/// the other list waits for the node longer than a client with the node's own list, which may not
/// see the node at all.
void draw_list_on_disk(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 2, {"345"});
  draw.operators = 0;
  draw.durable = true;
  draw.clients = random.between(2, 3);
  draw.lists = "010";
  draw.blind = random.one_in(2) ? "30" : "";
  draw.every = draw.ttl / 4;
  draw.hold = draw.ttl * 2;
  draw.faults.push_back(Fault::crash);
  draw.between_faults = draw.ttl;
  draw.until = draw.ttl * 16;
}

/// All nodes forget, and clients with two lists found both lists. Each client sees a different one
/// of the two shared nodes wait long enough. Then both of these nodes forget, and each gets a
/// candidate for the other list. A client that believes what it has seen enrols the rest.
void draw_old_looks(Draw& draw, test::SeededRandom& random) {
  draw_a_trap(draw, random, 3, 1, {"124"});
  draw.operators = 0;
  draw.ttl = draw.max_ttl = draw.node_timeout = random.between(4, 8) * 50ms;
  draw.delay = 200us;
  draw.blind = "21";
  draw.every = draw.ttl;
  draw.hold = draw.ttl * random.between(5, 15) / 10;
  draw.all_forget = draw.faults_follow_looks = true;
  draw.forgetters = "1234";
  draw.faults.push_back(Fault::forget_scripts);
  draw.until = 12s;
  draw.between_faults = 2s;
}

}  // namespace

void draw_traps(Draw& draw, test::SeededRandom& random) {
  switch (random.between(1, 8)) {
    case 1: return draw_seen_once(draw, random);
    case 2: return draw_too_few_vouchers(draw, random);
    case 3: return draw_unequal_vouchers(draw, random);
    case 4: return draw_late_move(draw, random);
    case 5: return draw_two_foundings(draw, random);
    case 6: return draw_list_on_disk(draw, random);
    case 7: return draw_move_in_a_round(draw, random);
    default: return draw_old_looks(draw, random);
  }
}

}  // namespace quorumlock::sim
