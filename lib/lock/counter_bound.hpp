#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "lock/mutants.hpp"
#include "lock/types.hpp"

// How great a fencing counter, or a floor for counters, may be. One node may say anything. If its
// number reached the others, these would be raised to it, and near 2^53 a lock would never be
// granted again. A number counts if N - q + 1 nodes, of which one is right, or a clock vouch for
// it: proof/counters.py.
namespace quorumlock::core {

/// The client's clock, or the TIME that `least` of the nodes have passed if that is later, in us
/// since 1970.
inline std::int64_t latest_clock(std::int64_t wall, std::vector<std::int64_t> times, int least) {
  std::ranges::sort(times, std::greater());
  if (times.size() < static_cast<std::size_t>(least)) return wall;
  return std::max(wall, times[static_cast<std::size_t>(least - 1)]);
}

/// A floor by clocks is a minute beyond the TIME of a node, whose clock may be ahead. It has to
/// count however short fencing_memory is.
inline constexpr Duration shortest_bound = std::chrono::minutes(4);

/// The greatest number that counts whichever node says it: as far as fencing_memory beyond the
/// latest clock. Counters that only our scripts have written go no further, but for a step with
/// each grant.
inline std::uint64_t counts_up_to(std::int64_t wall, std::vector<std::int64_t> times, int least,
                                  Duration memory) {
  const std::int64_t us = latest_clock(wall, std::move(times), least) +
                          std::max(memory, shortest_bound) / std::chrono::microseconds(1);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
}

/// The greatest number that `least` of the nodes with these numbers have reached; 0: there are
/// fewer nodes.
inline std::uint64_t shared_by(int least, std::vector<std::uint64_t> numbers) {
  if (planted(Mutant::one_as_great_is_enough)) least = 1;
  if (numbers.size() < static_cast<std::size_t>(least)) return 0;
  std::ranges::sort(numbers, std::greater());
  return numbers[static_cast<std::size_t>(least - 1)];
}

}  // namespace quorumlock::core
