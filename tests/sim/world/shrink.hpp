#pragma once

#include <functional>

#include "sim/world/draw.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

/// Removes from a failing draw everything that the failure does not need: faults, clients, nodes,
/// keys, time. Calls `fails` some dozens of times.
inline Draw shrink(Draw draw, const std::function<bool(const Draw&)>& fails) {
  const auto take = [&](auto&& change) {
    Draw smaller = draw;
    change(smaller);
    if (smaller.to_string() == draw.to_string() || !fails(smaller)) return false;
    draw = smaller;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < draw.faults.size();) {
      const bool gone = take(
          [i](Draw& it) { it.faults.erase(it.faults.begin() + static_cast<std::ptrdiff_t>(i)); });
      again = again || gone;
      if (!gone) ++i;
    }
    while (draw.until > draw.ttl && take([](Draw& it) { it.until = it.until * 3 / 4 / 1us * 1us; }))
      again = true;
    if (draw.clients > 1) again = take([](Draw& it) { --it.clients; }) || again;
    if (draw.operators > 0) again = take([](Draw& it) { --it.operators; }) || again;
    if (draw.spares > 0 && draw.plan.empty()) again = take([](Draw& it) { --it.spares; }) || again;
    if (draw.keys > 1) again = take([](Draw& it) { it.keys = 1; }) || again;
    if (draw.nodes > 1 && draw.plan.empty()) again = take([](Draw& it) { --it.nodes; }) || again;
    again = take([](Draw& it) { it.to_read = 0; }) || again;
    again = take([](Draw& it) { it.clocks_at_the_bound = false; }) || again;
    again = take([](Draw& it) { it.sane_wall_clocks = true; }) || again;
    again = take([](Draw& it) { it.low_counters = false; }) || again;
    again = take([](Draw& it) { it.uneven_paths = false; }) || again;
    again = take([](Draw& it) { it.faults_follow_wins = false; }) || again;
    again = take([](Draw& it) { it.faults_follow_votes = false; }) || again;
    again = take([](Draw& it) { it.faults_follow_raises = false; }) || again;
    again = take([](Draw& it) { it.faults_follow_rivals = false; }) || again;
    again = take([](Draw& it) { it.rivals_watch = false; }) || again;
    again = take([](Draw& it) { it.blind_spots = false; }) || again;
    again = take([](Draw& it) { it.one_ahead = false; }) || again;
    again = take([](Draw& it) { it.late_comer = false; }) || again;
    again = take([](Draw& it) { it.sets = 0; }) || again;
    again = take([](Draw& it) { it.capacity = 0; }) || again;
    again = take([](Draw& it) { it.capacities_differ = false; }) || again;
    again = take([](Draw& it) { it.in_order = 0; }) || again;
    again = take([](Draw& it) { it.at_once = 1; }) || again;
    again = take([](Draw& it) { it.window = 6400; }) || again;
    again = take([](Draw& it) { it.in_pieces = false; }) || again;
    again = take([](Draw& it) { it.forgetful_paths = false; }) || again;
    again = take([](Draw& it) { it.tenants = false; }) || again;
    again = take([](Draw& it) { it.odd_counter = false; }) || again;
    again = take([](Draw& it) { it.deaf.clear(); }) || again;
    again = take([](Draw& it) { it.faults_follow_steps = false; }) || again;
    again = take([](Draw& it) { it.lists_differ = false; }) || again;
    again = take([](Draw& it) { it.blind_for_good = false; }) || again;
    again = take([](Draw& it) { it.lists_follow_requests = false; }) || again;
    again = take([](Draw& it) { it.all_forget = false; }) || again;
    again = take([](Draw& it) { it.lists.clear(); }) || again;
    again = take([](Draw& it) { it.blind.clear(); }) || again;
    again = take([](Draw& it) { it.moves_at_commit = false; }) || again;
    again = take([](Draw& it) { it.faults_follow_looks = false; }) || again;
    if (draw.plan.size() > 1) again = take([](Draw& it) { it.plan.pop_back(); }) || again;
  }
  return draw;
}

}  // namespace quorumlock::sim
