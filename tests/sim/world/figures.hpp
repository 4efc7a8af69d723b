#pragma once

#include <array>
#include <cstddef>

#include "sim/world/draw.hpp"

namespace quorumlock::sim {

/// How often things happened in one history, or in several.
struct Figures {
  std::size_t acquired = 0, refused = 0, renewed = 0, ended = 0, faults = 0, commands = 0,
              in_order = 0, by_token = 0, lists_settled = 0, lists_stranded = 0, returned = 0;
  /// Operators that stopped for good after a step: on some nodes at least, and not on all that
  /// come after it.
  std::array<std::size_t, step_kinds> died_after{};
};

}  // namespace quorumlock::sim
