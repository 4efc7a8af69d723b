#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lock/mutants.hpp"
#include "sim/world/draw.hpp"

namespace quorumlock::sim {

struct KnownMutant {
  core::Mutant mutant;
  std::string_view name;
  std::string_view what;
  int seeds;  ///< the seeds within which it must be caught; 0: planted, and not caught yet
  std::optional<Focus> focus = {};  ///< the focus of those seeds; unset: the one that each draws
  std::uint64_t from = 1;           ///< the first of them: thousands before it take long in vain
};

/// Every mistake that can be planted.
const std::vector<KnownMutant>& known_mutants();

}  // namespace quorumlock::sim
