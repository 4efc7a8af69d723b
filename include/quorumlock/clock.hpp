#pragma once

#include <chrono>

#include <quorumlock/export.hpp>

namespace quorumlock {

/// The clock that measures every lease: CLOCK_BOOTTIME.
///
/// It never goes back. Unlike std::chrono::steady_clock on Linux, it goes on counting while the
/// machine is suspended, as a Redis ttl does. Its epoch is the machine's boot, so a time_point
/// means nothing on another machine.
struct QUORUMLOCK_EXPORT Clock {
  /// The standard library requires these of a clock.
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;                          ///< its number
  using period = duration::period;                    ///< its unit
  using time_point = std::chrono::time_point<Clock>;  ///< a time since the boot
  static constexpr bool is_steady = true;             ///< it never goes back

  /// Reads the clock. Callable from any thread; one vDSO call, tens of nanoseconds.
  static time_point now() noexcept;
};

// Qt's `forever` is a macro for `for (;;)`, with which the name below could not even be written. Qt
// keeps Q_FOREVER. If Qt's headers come after this one, compile with QT_NO_KEYWORDS.
#undef forever

/// The value of a `wait` without limit.
inline constexpr std::chrono::nanoseconds forever = (std::chrono::nanoseconds::max)();

}  // namespace quorumlock
