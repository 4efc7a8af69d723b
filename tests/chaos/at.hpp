#pragma once

#include <chrono>

#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// Hand-made time: at(ms) is that many milliseconds after a test's begin.
constexpr Time at(int ms) {
  return Time(std::chrono::milliseconds(ms));
}

}  // namespace quorumlock::chaos
