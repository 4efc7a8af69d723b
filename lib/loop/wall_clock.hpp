#pragma once

#include <chrono>

#include <quorumlock/detail/clock_control.hpp>

#include "lock/types.hpp"

namespace quorumlock::detail {

/// The machine's wall clock, which the test kit moves with Clock.
class SystemWallClock final : public core::WallClock {
 public:
  std::int64_t now_us() override {
    using namespace std::chrono;
    const auto now = system_clock::now().time_since_epoch() + ClockControl::gain();
    return duration_cast<microseconds>(now).count();
  }
  /// Seconds since 1970, with which dates in certificates are compared.
  std::int64_t now_s() { return now_us() / 1'000'000; }
};

}  // namespace quorumlock::detail
