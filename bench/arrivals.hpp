#pragma once

#include "nodes.hpp"

namespace quorumlock::bench {

// Each prints one JSON object a line.

/// From nothing to the first lock, on nodes that are there: the bare floor and coordinators with
/// fencing off and on, each made anew `rounds` times.
void print_start_up(const Nodes& nodes, int rounds);
/// So many coordinators are connected when a (durable) node is killed, and all come back when it
/// does: how long until each counts it again, and what one more client's locks take meanwhile.
void print_storm(int clients, int rounds);

}  // namespace quorumlock::bench
