#pragma once

#include <chrono>

#include <quorumlock/options.hpp>

namespace quorumlock::detail {

/// A duration of the standard library's, as one for LockOptions::wait: below zero is one attempt,
/// what is too long to count is `forever`.
template <class Rep, class Period>
std::chrono::nanoseconds saturated(const std::chrono::duration<Rep, Period>& patience) {
  using Seconds = std::chrono::duration<long double>;
  if (patience <= patience.zero()) return std::chrono::nanoseconds::zero();
  if (Seconds(patience) >= Seconds(forever)) return forever;
  return std::chrono::ceil<std::chrono::nanoseconds>(patience);
}

}  // namespace quorumlock::detail
