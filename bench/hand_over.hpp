#pragma once

#include "nodes.hpp"

namespace quorumlock::bench {

/// One lock that many want: hand-overs per second, how evenly they are shared out and how many
/// commands each costs the nodes, beside acquire and release of one client alone in the same round.
/// Prints one JSON object a line.
void print_hand_overs(const Nodes& nodes, int rounds);

}  // namespace quorumlock::bench
