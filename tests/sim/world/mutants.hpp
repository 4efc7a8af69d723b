#pragma once

#include <string_view>
#include <vector>

#include "core/mutants.hpp"

namespace quorumlock::sim {

struct KnownMutant {
  core::Mutant mutant;
  std::string_view name;
  std::string_view what;
  int seeds;  ///< within so many it must be caught
};

/// Every mistake that can be planted.
const std::vector<KnownMutant>& known_mutants();

}  // namespace quorumlock::sim
