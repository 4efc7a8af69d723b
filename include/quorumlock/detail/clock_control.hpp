#pragma once

#include <chrono>

#include <quorumlock/clock.hpp>
#include <quorumlock/detail/export.hpp>

namespace quorumlock::detail {

/// The test kit's control of Clock, for the whole process. A program that does not use the kit
/// never calls it, and its Clock is the kernel's.
class QUORUMLOCK_EXPORT ClockControl {
 public:
  /// Makes Clock stand still. May be called from any thread, as may the other functions.
  static void stop();
  /// Makes Clock go on from the instant at which it stands.
  static void go();
  /// Moves Clock by that time at once, whether it stands or goes.
  static void advance(std::chrono::nanoseconds by);
  [[nodiscard]] static bool stands();

  /// How far Clock is ahead of the kernel's clock.
  [[nodiscard]] static std::chrono::nanoseconds gain();
  /// The time by the kernel's clock at which Clock reaches `when`: max() if Clock stands and `when`
  /// is later than now.
  [[nodiscard]] static Clock::time_point by_kernel(Clock::time_point when);
};

/// Makes every coordinator that has a loop of its own do what is due by now. Returns when the next
/// of them has something to do. Blocking; throws std::logic_error on a loop's thread.
QUORUMLOCK_EXPORT Clock::time_point turn_loops();

}  // namespace quorumlock::detail
