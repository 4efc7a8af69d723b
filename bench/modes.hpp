#pragma once

#include <cstdint>
#include <vector>

#include "field.hpp"

namespace quorumlock::bench {

/// The number of slots in use at once, and of cycles.
struct Load {
  int in_flight = 1;
  std::int64_t cycles = 0;
};
/// Returns a number of cycles that takes about a third of a second.
std::int64_t usual_cycles(int in_flight);

// The following are modes for bench/suite. Each prints one JSON object a line.

/// Runs each contender in several short turns per round at every load, in both orders.
void print_rounds(Field& field, const std::vector<Load>& loads, int rounds);
/// Prints resident memory before, at each quarter of, and after this many cycles at 64 in flight.
void print_memory(Field& field, std::int64_t cycles);

/// Checks that each contender's lock is held on the nodes and released, and that no key is left
/// after some hundred cycles. Measures no times. Prints its findings; true if all is well.
bool smoke(Field& field);

}  // namespace quorumlock::bench
