#pragma once

#include <chrono>

#include "core/types.hpp"

namespace quorumlock::redis {

/// Between one try to connect and the next: from the first doubled to the longest, and of that the
/// upper half, at random.
inline constexpr core::Duration first_back_off = std::chrono::milliseconds(20);
inline constexpr core::Duration longest_back_off = std::chrono::seconds(1);

}  // namespace quorumlock::redis
