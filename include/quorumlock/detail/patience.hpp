#pragma once

#include <chrono>
#include <cmath>

#include <quorumlock/options.hpp>

namespace quorumlock::detail {

/// Nanoseconds that do not overflow, whatever duration of the standard library is converted to
/// them.
using WideDuration = std::chrono::duration<long double, std::nano>;

/// Converts a duration of the standard library for LockOptions::wait. A negative duration, or one
/// that is not a number, is one attempt; a duration that is too long to count is `forever`.
template <class Rep, class Period>
std::chrono::nanoseconds saturated(const std::chrono::duration<Rep, Period>& patience) {
  const WideDuration wide = patience;
  if (!(wide > WideDuration::zero())) return std::chrono::nanoseconds::zero();
  // Not by the name `forever`: Qt's macro of that name may come between our headers.
  constexpr std::chrono::nanoseconds longest = (std::chrono::nanoseconds::max)();
  if (wide >= WideDuration(longest)) return longest;
  return std::chrono::nanoseconds(
      static_cast<std::chrono::nanoseconds::rep>(std::ceil(wide.count())));
}

/// The same for the time left until `deadline`. The difference of two time points may overflow, and
/// so may comparing them in the finer of their units: this does neither.
template <class C, class D>
std::chrono::nanoseconds saturated_until(const std::chrono::time_point<C, D>& deadline) {
  const WideDuration then = deadline.time_since_epoch();
  const WideDuration now = C::now().time_since_epoch();
  return saturated(then - now);
}

}  // namespace quorumlock::detail
