#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace quorumlock::cli {

/// Returns the running processes of a group, as shown by /proc; zombies do not count.
std::vector<pid_t> running_members(pid_t group);

/// Waits until only `except` runs in the group. Returns false if that takes longer than `patience`.
bool wait_until_alone(pid_t group, pid_t except, std::chrono::milliseconds patience);

}  // namespace quorumlock::cli
