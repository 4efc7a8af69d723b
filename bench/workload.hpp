#pragma once

#include <cstdint>
#include <vector>

#include "contender.hpp"
#include "local/percentile.hpp"

namespace quorumlock::bench {

/// The cost of a number of cycles (acquire, then release).
struct Measurement {
  std::int64_t cycles = 0;
  double seconds = 0;
  double user_us = 0;  ///< CPU of this thread, which runs the contender's loop
  double system_us = 0;
  std::uint64_t allocations = 0;
  Work servers;  ///< theirs, if it was asked for: run_cycles() does not
  // Times in nanoseconds, of slot 0 and every 16th slot: with 1 in flight, of every cycle.
  std::vector<std::uint32_t> acquire_ns;
  std::vector<std::uint32_t> release_ns;

  void add(const Measurement& other);
  [[nodiscard]] double rate() const { return static_cast<double>(cycles) / seconds; }
  [[nodiscard]] double cpu_us() const { return per_cycle(user_us + system_us); }
  [[nodiscard]] double per_cycle(double all) const { return all / static_cast<double>(cycles); }
};

/// Keeps `in_flight` slots of the contender busy until `cycles` are done. Throws std::runtime_error
/// if an acquire or release is refused.
Measurement run_cycles(Contender& contender, int in_flight, std::int64_t cycles);

using local::percentile_us;

/// Turns the contender's loop for this long, without work.
void idle(Contender& contender, std::uint64_t ms);

}  // namespace quorumlock::bench
