#include "loop/wrong_clocks.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace quorumlock::detail {
namespace {

/// A duration as text, such as "0.250000 s".
std::string in_seconds(core::Duration size) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f s", std::abs(std::chrono::duration<double>(size).count()));
  return text;
}

}  // namespace

std::string WrongClocks::take(const core::ClockJumped& jumped, const std::string& node) {
  jumps_[static_cast<std::size_t>(jumped.node)] = {jumped.size, jumped.until};
  const bool ahead = jumped.size > core::Duration::zero();
  return node + " has a wrong clock: it is " + in_seconds(jumped.size) +
         (ahead ? " ahead of" : " behind") +
         " what drift_factor allows since it was last looked at; its votes do not count for "
         "max_ttl";
}

std::string WrongClocks::take(const core::ClockStood& stood) {
  for (const int node : stood.trusted) forget(node);
  return "this process's own clock stood still for " + in_seconds(stood.size) +
         " or more: " + std::to_string(stood.ahead.size()) +
         " nodes are ahead of it at once; all leases have ended, and no node is mistrusted for it";
}

}  // namespace quorumlock::detail
