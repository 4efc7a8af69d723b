#pragma once

#include <poll.h>

#include <chrono>

namespace quorumlock::chaos {

/// Lets time pass, as the plan of a run has it. What is awaited is looked at in between.
inline void pause(std::chrono::milliseconds time) {
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

}  // namespace quorumlock::chaos
