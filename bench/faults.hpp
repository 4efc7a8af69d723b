#pragma once

#include <string_view>

#include "field.hpp"

namespace quorumlock::bench {

/// Prints pairs of runs at 1 in flight, one JSON object a line: first all nodes are well, then the
/// last one, which has a proxy in front of it in both runs, is `slow` by 100 ms, `stopped` by
/// SIGSTOP, `dead` (its old and new connections are reset) or `flapping` (dead every other 300 ms).
void print_faults(Field& field, std::string_view fault, int pairs);

}  // namespace quorumlock::bench
