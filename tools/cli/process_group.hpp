#pragma once

#include <sys/types.h>

#include <chrono>

namespace quorumlock::cli {

/// Waits until only `except` (0: nobody) runs in the group; zombies do not count. Returns false if
/// that takes longer than `patience`, or if it cannot be known because /proc is not there.
bool wait_until_alone(pid_t group, pid_t except, std::chrono::milliseconds patience);

}  // namespace quorumlock::cli
