#include "sim/world/draw.hpp"

#include <algorithm>
#include <array>

#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
namespace {

template <class T, std::size_t size>
T one_of(test::SeededRandom& random, const std::array<T, size>& choices) {
  return choices[random.index(size)];
}

Draw of_everything(test::SeededRandom& random) {
  Draw draw;
  draw.nodes = one_of<int>(random, std::array{1, 2, 3, 3, 3, 3, 4, 5, 5, 5});
  draw.clients = random.between(1, 4);
  draw.keys = random.one_in(4) ? 2 : 1;
  draw.fencing = !random.one_in(6);
  draw.durable = random.one_in(3);
  draw.sane_wall_clocks = random.one_in(2);
  draw.clocks_at_the_bound = random.one_in(2);
  draw.nodes_agree = random.one_in(3);
  draw.low_counters = random.one_in(4);
  draw.uneven_paths = random.one_in(3);
  draw.faults_follow_wins = random.one_in(4);
  draw.ttl = one_of<core::Duration>(random, std::array<core::Duration, 4>{300ms, 1s, 2s, 5s});
  draw.max_ttl = random.one_in(2) ? draw.ttl : 2 * draw.ttl;
  draw.delay = one_of(random, std::array<core::Duration, 4>{100us, 5ms, 50ms, 200ms});
  draw.hold = draw.ttl * random.between(1, 40) / 10;
  draw.pause = std::max(draw.delay, draw.ttl / 20);
  draw.node_timeout = 500ms;
  draw.until = draw.max_ttl * random.between(3, 6);
  draw.between_faults = draw.until / random.between(3, 15);
  const bool within = !random.one_in(5);
  const auto most = static_cast<int>(within ? Fault::client_crash : Fault::drop_lock);
  const int likely = random.between(1, 4);
  for (int i = 0; i <= most; ++i) {
    if (random.one_in(likely)) draw.faults.push_back(static_cast<Fault>(i));
  }
  return draw;
}

/// Draws three or five nodes, and a few clients that want one lock again and again.
Draw of_a_crowd(test::SeededRandom& random) {
  Draw draw;
  draw.nodes = random.one_in(5) ? 5 : 3;
  draw.clients = random.between(2, 3);
  draw.sane_wall_clocks = false;
  draw.low_counters = true;
  draw.uneven_paths = true;
  draw.ttl = draw.max_ttl = 1s;
  draw.delay = random.between(2, 40) * 1ms;
  draw.hold = draw.delay * random.between(2, 12);
  draw.pause = draw.delay * random.between(1, 4) / 2;
  draw.node_timeout = draw.delay * random.between(4, 30);
  draw.until = draw.delay * 80;
  draw.between_faults = draw.delay * random.between(1, 10);
  return draw;
}

void add_some(Draw& draw, test::SeededRandom& random, std::initializer_list<Fault> faults) {
  for (const Fault fault : faults) {
    if (random.one_in(3)) draw.faults.push_back(fault);
  }
}

Draw of_focus(Focus focus, test::SeededRandom& random) {
  Draw draw = focus == Focus::everything ? of_everything(random) : of_a_crowd(random);
  switch (focus) {
    case Focus::everything: break;
    case Focus::fences:
      draw.durable = true;
      draw.faults.push_back(Fault::drop_lock);
      add_some(draw, random, {Fault::pause_client, Fault::reset, Fault::partition, Fault::delay});
      break;
    case Focus::order:
      draw.nodes = 3;
      draw.durable = true;
      draw.ttl = draw.max_ttl = random.between(1, 3) * 100ms;
      draw.delay = draw.ttl / random.between(2, 12);
      draw.hold = draw.ttl * random.between(1, 10) / 10;
      draw.pause = draw.delay;
      draw.until = draw.ttl * 15;
      draw.node_timeout = draw.ttl;
      draw.between_faults = draw.ttl / random.between(1, 8);
      add_some(
          draw, random,
          {Fault::pause_client, Fault::pause_node, Fault::reset, Fault::partition, Fault::delay});
      break;
    case Focus::forgetting:
      draw.ttl = draw.max_ttl = random.between(1, 5) * 100ms;
      draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
      draw.hold = draw.ttl * random.between(2, 20) / 10;
      draw.pause = std::max(draw.delay, draw.ttl / 50);
      draw.node_timeout = draw.ttl;
      draw.until = draw.ttl * 8;
      draw.between_faults = draw.ttl / random.between(1, 4);
      draw.faults_follow_wins = random.one_in(2);
      draw.faults.push_back(random.one_in(2) ? Fault::flush : Fault::crash);
      add_some(
          draw, random,
          {Fault::flush, Fault::crash, Fault::partition, Fault::pause_client, Fault::fail_over});
      break;
    case Focus::lateness:
      draw.ttl = random.between(1, 3) * 100ms;
      draw.max_ttl = random.one_in(2) ? draw.ttl : 2 * draw.ttl;
      draw.delay = draw.ttl / random.between(2, 20);
      draw.hold = draw.ttl * random.between(2, 20) / 10;
      draw.until = draw.ttl * 15;
      draw.node_timeout = draw.ttl;
      draw.between_faults = draw.ttl / random.between(1, 4);
      draw.faults_follow_wins = random.one_in(2);
      add_some(
          draw, random,
          {Fault::delay, Fault::partition, Fault::pause_client, Fault::pause_node, Fault::flush});
      break;
    case Focus::clocks:
      draw.clocks_at_the_bound = true;
      draw.nodes_agree = false;
      draw.uneven_paths = false;
      draw.ttl = draw.max_ttl = random.between(1, 5) * 1s;
      draw.delay = 100us;
      draw.hold = draw.ttl * random.between(5, 20) / 10;
      draw.pause = draw.ttl / random.between(100, 1000);
      draw.until = draw.ttl * 3;
      draw.node_timeout = 500ms;
      draw.between_faults = draw.ttl;
      draw.faults_follow_wins = true;
      add_some(draw, random, {Fault::crash, Fault::flush, Fault::pause_client});
      if (random.one_in(2)) break;
      // Holders rely on the lock until its end, while a node forgets that they have it.
      draw.nodes = 3;
      draw.clients = 3;
      draw.uneven_paths = true;
      draw.hold = draw.ttl * random.between(15, 30) / 10;
      draw.every = draw.ttl;
      draw.pause = draw.ttl / 100;
      draw.rivals_watch = true;
      draw.between_faults = draw.until;
      draw.faults = {Fault::flush};
      break;
    case Focus::line:
      draw.clients = random.between(2, 4);
      draw.keys = random.one_in(5) ? 2 : 1;
      draw.sane_wall_clocks = random.one_in(2);
      draw.low_counters = random.one_in(4);
      draw.nodes_agree = random.one_in(3);
      draw.ttl = draw.max_ttl = random.between(2, 8) * 1s;
      draw.delay = random.between(1, 20) * 1ms;
      draw.hold = draw.delay * random.between(1, 8);
      draw.pause = std::max(draw.delay, core::Duration(20ms));
      draw.node_timeout = 500ms;
      draw.until = draw.delay * random.between(50, 200);
      draw.in_order = random.one_in(3) ? 100 : random.between(50, 100);
      draw.uneven_paths = random.one_in(3);
      draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 10) * 100ms);
      if (random.one_in(2)) {
        add_some(draw, random,
                 {Fault::crash, Fault::pause_client, Fault::pause_node, Fault::reset, Fault::delay,
                  Fault::partition, Fault::client_crash, Fault::refuse, Fault::forget_scripts});
      }
      // If nothing goes wrong, no wake-up may have to wait for the next look, so looks are rare.
      if (draw.faults.empty()) draw.entry_life = draw.delay * 1200;
      break;
    case Focus::sets:
      draw.clients = random.between(2, 4);
      draw.keys = 3;
      draw.sets = random.one_in(3) ? 100 : random.between(30, 100);
      draw.fencing = !random.one_in(6);
      draw.durable = random.one_in(2);
      draw.sane_wall_clocks = random.one_in(2);
      draw.nodes_agree = random.one_in(3);
      draw.delay = random.between(1, 10) * 1ms;
      draw.ttl = draw.max_ttl = draw.delay * random.between(60, 400);
      draw.hold = draw.delay * random.between(1, 8);
      // Some leases live for several renewals.
      if (random.one_in(3)) draw.hold = draw.ttl * random.between(5, 20) / 10;
      draw.every = draw.hold * random.between(1, 3);
      draw.pause = std::max(draw.delay, core::Duration(20ms));
      draw.until = std::max(draw.delay * random.between(50, 200), draw.every * 10);
      draw.in_order = random.one_in(4) ? 0 : random.between(50, 100);
      draw.uneven_paths = random.one_in(3);
      draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 10) * 100ms);
      draw.node_timeout = draw.ttl;
      draw.between_faults = draw.ttl * random.between(1, 8) / 4;
      if (random.one_in(2)) {
        add_some(draw, random,
                 {Fault::crash, Fault::pause_client, Fault::pause_node, Fault::reset, Fault::delay,
                  Fault::partition, Fault::client_crash, Fault::refuse, Fault::forget_scripts,
                  Fault::flush});
      }
      if (draw.faults.empty()) draw.entry_life = draw.delay * 1200;
      break;
    case Focus::readers:
      draw.clients = random.between(2, 4);
      draw.sane_wall_clocks = random.one_in(2);
      draw.ttl = random.between(1, 6) * 500ms;
      draw.max_ttl = draw.ttl * random.between(2, 3);
      draw.delay =
          random.one_in(3) ? draw.ttl / random.between(10, 30) : random.between(1, 10) * 1ms;
      draw.hold = random.one_in(2) ? draw.delay * random.between(2, 12)
                                   : draw.ttl * random.between(1, 15) / 10;
      draw.every = draw.hold / random.between(1, 3);
      draw.pause = std::max(draw.delay, core::Duration(20ms));
      draw.node_timeout = 500ms;
      draw.until = std::max<core::Duration>(draw.delay * random.between(50, 150), 2 * draw.hold);
      draw.uneven_paths = random.one_in(3);
      draw.in_order = random.one_in(3) ? 100 : random.between(0, 100);
      draw.to_read = random.between(30, 90);
      draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 10) * 100ms);
      if (random.one_in(2)) {
        add_some(draw, random,
                 {Fault::crash, Fault::pause_client, Fault::pause_node, Fault::reset, Fault::delay,
                  Fault::partition, Fault::client_crash, Fault::refuse, Fault::flush});
      }
      if (draw.order_holds()) draw.entry_life = draw.delay * 1200;
      break;
    case Focus::permits: draw_permits(draw, random); break;
    case Focus::pieces:
      draw.nodes = 3;
      draw.sane_wall_clocks = random.one_in(2);
      draw.low_counters = false;
      draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
      draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
      draw.hold = random.one_in(2) ? draw.ttl * random.between(2, 12) / 10
                                   : draw.delay * random.between(2, 20);
      draw.every = draw.hold * random.between(2, 6);
      draw.pause = draw.ttl / 10;
      draw.entry_life = std::max<core::Duration>(draw.delay * 50, 300ms);
      draw.in_order = random.one_in(4) ? random.between(1, 100) : 0;
      draw.node_timeout = draw.ttl;
      draw.until = draw.every * 12;
      draw.between_faults = draw.ttl / random.between(1, 4);
      add_some(draw, random, {Fault::flush, Fault::crash, Fault::pause_node, Fault::delay});
      if (random.one_in(2)) break;
      // Other clients see a node forget.
      draw.hold = draw.ttl * random.between(5, 20) / 10;
      draw.every = draw.hold * random.between(1, 3);
      draw.until = draw.every * 12;
      draw.between_faults = draw.until;
      draw.faults_follow_votes = draw.blind_spots = true;
      draw.faults = {Fault::flush, Fault::partition};
      break;
    case Focus::silence: draw_silence(draw, random); break;
    case Focus::tokens: draw_tokens(draw, random); break;
    case Focus::standstills: draw_standstills(draw, random); break;
    case Focus::disks: draw_disks(draw, random); break;
    case Focus::tenants: draw = draw_tenants(random); break;
    case Focus::idleness: draw_idleness(draw, random); break;
    case Focus::members: draw_members(draw, random); break;
    case Focus::replacing: draw_replacing(draw, random); break;
    case Focus::shrinking: draw_shrinking(draw, random); break;
    case Focus::in_a_row: draw_in_a_row(draw, random); break;
    case Focus::forks: draw_forks(draw, random); break;
    case Focus::traps: draw_traps(draw, random); break;
    case Focus::founding: draw_founding(draw, random); break;
    case Focus::unfenced: draw_unfenced(draw, random); break;
    case Focus::hand_overs: draw_hand_overs(draw, random); break;
    case Focus::stale_sources: draw_stale_sources(draw, random); break;
    case Focus::short_lives: draw_short_lives(draw, random); break;
    case Focus::databases: draw_databases(draw, random); break;
    case Focus::periods: draw_periods(draw, random); break;
    case Focus::forgeries: draw_forgeries(draw, random); break;
    case Focus::terms: draw_terms(draw, random); break;
    case Focus::redeployments: draw_redeployments(draw, random); break;
    case Focus::giving_up:
      draw.ttl = draw.max_ttl = random.between(2, 10) * 1s;
      draw.until = draw.delay * 50;
      draw.node_timeout = 10s;
      break;
    case Focus::raises:
      draw.durable = true;
      draw.node_timeout = draw.delay * random.between(3, 10);
      draw.faults_follow_raises = true;
      draw.faults = {Fault::delay, Fault::reset};
      draw.between_faults = draw.until / random.between(1, 10);
      if (random.one_in(3)) break;
      // The second client asks much later, and has not seen the first client's tokens.
      draw.clients = 2;
      draw.one_ahead = draw.late_comer = true;
      draw.every = 3 * draw.ttl;
      draw.until = draw.between_faults = 4 * draw.ttl;
      break;
    case Focus::relapses:
      draw.nodes = 3;
      draw.ttl = draw.max_ttl = random.between(1, 5) * 200ms;
      draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
      draw.hold = draw.ttl * random.between(2, 20) / 10;
      draw.pause = std::max(draw.delay, draw.ttl / random.between(5, 50));
      draw.node_timeout = draw.ttl;
      draw.until = draw.ttl * 8;
      draw.between_faults = draw.until;
      draw.faults_follow_votes = true;
      if (random.one_in(2)) {
        // The counters are copied while a raise is on its way to them; then a client that has seen
        // nothing of this gets a token.
        draw.hold = draw.ttl * random.between(2, 8) / 10;
        draw.every = draw.ttl * random.between(1, 4);
        draw.faults = {random.one_in(3) ? Fault::flush : Fault::crash, Fault::delay};
        draw.faults_follow_raises = draw.one_ahead = true;
        draw.late_comer = true;
      } else {
        draw.faults = {Fault::flush, Fault::partition};
        draw.faults_follow_rivals = true;
        draw.blind_spots = random.one_in(2);
        draw.sane_wall_clocks = random.one_in(2);
      }
      break;
  }
  if (draw.durable) std::erase(draw.faults, Fault::fail_over);
  if (draw.every == core::Duration()) draw.every = draw.hold;
  if (draw.entry_life == core::Duration::zero()) {
    // These are drawn after everything else, so that the rest of the draw stays as it was.
    draw.in_order = random.one_in(2) ? 0 : random.between(1, 100);
    draw.entry_life = std::max<core::Duration>(draw.delay * 50, random.between(3, 30) * 100ms);
  }
  if (focus == Focus::everything && random.one_in(3)) draw.to_read = random.between(1, 100);
  if (focus == Focus::sets && random.one_in(2)) draw.to_read = random.between(20, 80);
  if (focus == Focus::readers && random.one_in(8)) {
    draw.keys = 3;
    draw.sets = random.between(20, 100);
  }
  if (focus == Focus::permits && draw.capacities_differ && random.one_in(2)) {
    // A holder loses sight of one node after another, and sets again the keys that have run out
    // there.
    draw.nodes = 3;
    draw.clients = random.between(2, 3);
    draw.capacity = 1;
    draw.durable = draw.faults_follow_rivals = draw.blind_spots = true;
    draw.ttl = draw.max_ttl = random.between(2, 10) * 100ms;
    draw.delay = draw.ttl / random.between(20, 100);
    draw.hold = draw.ttl * random.between(15, 40) / 10;
    draw.every = draw.ttl / random.between(1, 4);
    draw.pause = draw.ttl / 20;
    draw.node_timeout = draw.ttl;
    draw.until = draw.between_faults = draw.ttl * 20;
    draw.faults = {Fault::partition};
  }
  if ((focus == Focus::everything || focus == Focus::fences) && random.one_in(4)) {
    draw.at_once = random.between(2, 4);
    draw.keys = std::max(draw.keys, 2);
  }
  draw.in_pieces = focus == Focus::pieces || (random.one_in(3) && focus != Focus::silence &&
                                              draw.crowd == 0 && !draw.stale_source);
  if (focus == Focus::everything) draw_more(draw, random);
  return draw;
}

}  // namespace

bool Draw::counters_hold() const {
  // If every node may forget at once, the order of tokens rests on the clocks.
  const bool forgets = has(Fault::flush) || swaps_disks() || has(Fault::fail_over) ||
                       (has(Fault::crash) && !durable);
  const bool clocks = has(Fault::clock_step) || has(Fault::clock_rate);
  return !has(Fault::evict) && !(forgets && clocks);
}

/// Five rounds (a missing script, commands that need the script after all, three raises) of two
/// messages that each take at most eight times the draw's delay, and a margin for lateness.
TrueTime Draw::promptly() const {
  return 5 * 2 * 8 * TrueTime(delay) + 10ms;
}

Draw Draw::of(std::uint64_t seed, std::optional<Focus> focus) {
  test::SeededRandom random(seed * 2 + 1);
  const int drawn = random.between(0, 2 * first_focuses - 1);
  Focus own = drawn < first_focuses ? static_cast<Focus>(drawn) : Focus::everything;
  const auto later = static_cast<std::uint64_t>(focuses - first_focuses);
  if (seed % 64 < later) own = static_cast<Focus>(first_focuses + static_cast<int>(seed % 64));
  Draw draw = of_focus(focus.value_or(own), random);
  draw.seed = seed;
  draw.focus = focus.value_or(own);
  // This is drawn after everything else, so that the rest stays as it was.
  if (random.one_in(3) && draw.crowd == 0) draw.window = random.between(1, 4);
  draw.round();
  return draw;
}

}  // namespace quorumlock::sim
