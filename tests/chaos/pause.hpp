#pragma once

#include <poll.h>

#include <chrono>

namespace quorumlock::chaos {

/// Lets time pass before a condition is checked again, or as the plan of a run requires.
inline void pause(std::chrono::milliseconds time) {
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

}  // namespace quorumlock::chaos
