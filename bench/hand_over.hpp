#pragma once

#include "nodes.hpp"

namespace quorumlock::bench {

/// Measures one lock with many waiters: hand-overs per second, how evenly they are shared and how
/// many commands each costs the nodes, compared with cycles of one client alone in the same round.
/// Prints one JSON object a line.
void print_hand_overs(const Nodes& nodes, int rounds);

}  // namespace quorumlock::bench
