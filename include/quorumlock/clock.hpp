#pragma once

#include <chrono>

namespace quorumlock {

/// The clock that every lease is measured with: CLOCK_BOOTTIME.
///
/// It never goes back and, unlike std::chrono::steady_clock on Linux, goes on counting while the
/// machine is suspended, as a Redis ttl does. Its epoch is the machine's boot: a time_point means
/// nothing to another machine.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  /// Callable from any thread; one vDSO call, tens of nanoseconds.
  static time_point now() noexcept;
};

/// As a `wait`: wait without limit.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

}  // namespace quorumlock
