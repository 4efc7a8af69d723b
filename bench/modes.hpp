#pragma once

#include <cstdint>
#include <vector>

#include "field.hpp"

namespace quorumlock::bench {

/// So many slots at once for so many cycles.
struct Load {
  int in_flight = 1;
  std::int64_t cycles = 0;
};
/// A number of cycles that takes about a third of a second.
std::int64_t usual_cycles(int in_flight);

// The modes for bench/suite. Each prints one JSON object a line.

/// In each round every contender has several short turns at every load, taken in both orders.
void print_rounds(Field& field, const std::vector<Load>& loads, int rounds);
/// Resident memory before, at each quarter of, and after so many cycles at 64 in flight.
void print_memory(Field& field, std::int64_t cycles);

/// Each contender takes a lock, is found to hold it, gives it back, and leaves no key behind after
/// some hundred cycles. Times nothing. Prints what it found; true if all is well.
bool smoke(Field& field);

}  // namespace quorumlock::bench
