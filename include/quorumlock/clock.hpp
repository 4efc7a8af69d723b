#pragma once

#include <chrono>
#include <concepts>
#include <limits>

#include <quorumlock/detail/export.hpp>

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

/// The type of no_limit.
struct NoLimit {
  /// A duration or a number that is never reached.
  template <class T>
  requires(std::same_as<T, std::chrono::nanoseconds> || std::same_as<T, int>) constexpr operator T()
      const noexcept {  // NOLINT: implicit, so that an option may be set to it
    if constexpr (std::same_as<T, int>)
      return (std::numeric_limits<int>::max)();
    else
      return forever;
  }
};
/// Takes back a limit of Options for one request: `{.max_hold = no_limit}`. It is a value of
/// `wait`, `max_hold` and `max_renewals`.
inline constexpr NoLimit no_limit{};

}  // namespace quorumlock
