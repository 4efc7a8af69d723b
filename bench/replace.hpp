#pragma once

#include <chrono>

namespace quorumlock::bench {

/// Measures locks before and while one node of five is replaced: `clients` coordinators of one
/// thread lock and release, each its own resource, and each keeps one more lease all the time.
/// Prints one JSON object for each of the rounds. Returns whether no acquisition failed, no lease
/// was lost, and all tokens were in order.
bool print_replacements(int clients, int rounds, std::chrono::seconds max_ttl);

}  // namespace quorumlock::bench
