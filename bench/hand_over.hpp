#pragma once

#include <utility>
#include <vector>

#include "nodes.hpp"

namespace quorumlock::bench {

/// Measures one lock with many waiters: hand-overs per second, how evenly they are shared and how
/// many commands each costs the nodes, compared with cycles of one client alone in the same round.
/// Prints one JSON object a line.
void print_hand_overs(const Nodes& nodes, int rounds);

/// Measures crowds of one process: for each pair, so many waiters of so many locks, all of whom ask
/// at the same moment. `served_s` is the time until each of them has had a lock, and has given it
/// back at once; `jain` is how evenly as many turns as there are waiters were shared;
/// `hand_overs_per_s` are those of as many turns after that. Times and bytes are per turn. Prints
/// one JSON object a line.
void print_crowds(const Nodes& nodes, int rounds,
                  const std::vector<std::pair<int, int>>& waiters_and_names);

}  // namespace quorumlock::bench
