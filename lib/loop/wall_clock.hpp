#pragma once

#include <chrono>

#include "core/types.hpp"

namespace quorumlock::detail {

/// The machine's wall clock.
class SystemWallClock final : public core::WallClock {
 public:
  std::int64_t now_us() override {
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  }
};

}  // namespace quorumlock::detail
