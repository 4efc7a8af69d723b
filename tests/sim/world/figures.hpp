#pragma once

#include <array>
#include <cstddef>

#include "sim/world/draw.hpp"

namespace quorumlock::sim {

/// Counts of the events of one history, or of several.
struct Figures {
  std::size_t acquired = 0, refused = 0, renewed = 0, ended = 0, faults = 0, commands = 0,
              in_order = 0, by_token = 0, lists_settled = 0, lists_stranded = 0, returned = 0,
              periods = 0;
  /// The number of operators that stopped for good after each step: at least some nodes had taken
  /// that step, and the later steps were not complete.
  std::array<std::size_t, step_kinds> died_after{};
};

}  // namespace quorumlock::sim
