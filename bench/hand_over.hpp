#pragma once

#include <utility>
#include <vector>

#include "nodes.hpp"

namespace quorumlock::bench {

/// Measures one lock with many waiters: hand-overs per second, how evenly they are shared and how
/// many commands each costs the nodes, compared with cycles of one client alone in the same round.
/// Prints one JSON object a line.
void print_hand_overs(const Nodes& nodes, int rounds);

/// For each pair, lets that many waiters of one process ask for that many locks at the same moment.
/// Each gives its lock back at once and asks again. `served_s` is the time until everybody has had
/// a lock. `jain` says how evenly the first turns were shared, as many as there are waiters.
/// `hand_overs_per_s` counts as many turns after that. CPU and bytes are per turn. Prints one JSON
/// object a line.
void print_crowds(const Nodes& nodes, int rounds,
                  const std::vector<std::pair<int, int>>& waiters_and_names);

}  // namespace quorumlock::bench
