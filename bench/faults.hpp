#pragma once

#include <string_view>

#include "field.hpp"

namespace quorumlock::bench {

/// Pairs of runs at 1 in flight: all nodes there, then the last one, which is behind a proxy in
/// both, `slow` by 100 ms, `stopped` by SIGSTOP, `dead` (connections are reset, and each new one)
/// or `flapping` (dead every other 300 ms). Prints one JSON object a line.
void print_faults(Field& field, std::string_view fault, int pairs);

}  // namespace quorumlock::bench
