#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "lock/mutants.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

/// The safety margin that is subtracted from a ttl: ttl x drift_factor for clocks that run at
/// different rates, and 2 ms because Redis rounds expiry times (the distributed-locks page's
/// CLOCK_DRIFT). Rounded up, so that validity is never overstated.
inline Duration margin(Duration ttl, double drift_factor) {
  if (planted(Mutant::no_margin)) return {};
  if (planted(Mutant::half_margin)) return ttl / 200 + std::chrono::milliseconds(1);
  const double drift = std::ceil(static_cast<double>(ttl.count()) * drift_factor);
  if (planted(Mutant::no_rounding)) return Duration(static_cast<Duration::rep>(drift));
  return Duration(static_cast<Duration::rep>(drift)) + std::chrono::milliseconds(2);
}

/// How long before its end the holder of a lock of `ttl` is told, unless the user says otherwise.
inline Duration usual_stop_margin(Duration ttl) {
  return std::max<Duration>(std::chrono::milliseconds(100), ttl / 10);
}

/// Until when a lock of `ttl` may be believed in. `start` was read before its first byte was
/// written, so that a slow reply shortens the validity and never lengthens it.
inline Time valid_until(Time start, Duration ttl, double drift_factor) {
  return start + ttl - margin(ttl, drift_factor);
}

}  // namespace quorumlock::core
