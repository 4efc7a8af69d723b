#pragma once

#include "nodes.hpp"

namespace quorumlock::bench {

// Each function prints one JSON object a line.

/// Measures the time to the first lock on running nodes: the bare floor and coordinators with
/// fencing off and on, each created `rounds` times.
void print_start_up(const Nodes& nodes, int rounds);
/// Connects `clients` coordinators, kills a durable node and restarts it: measures how long until
/// each is connected to it again, and the latency of one more client's locks meanwhile.
void print_storm(int clients, int rounds);

}  // namespace quorumlock::bench
