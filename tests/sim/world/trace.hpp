#pragma once

#include <iomanip>
#include <ostream>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

/// Writes one line of the history, if there is a stream for it.
template <class... Words>
void World::trace(const Words&... words) {
  if (trace_ == nullptr) return;
  *trace_ << std::fixed << std::setprecision(6) << static_cast<double>(now_.count()) / 1e9 << "  ";
  ((*trace_ << words), ...);
  *trace_ << '\n';
}

}  // namespace quorumlock::sim
