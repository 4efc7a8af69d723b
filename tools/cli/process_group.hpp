#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace quorumlock::cli {

/// The processes of a group that still run, as far as /proc shows them; zombies do not.
std::vector<pid_t> running_members(pid_t group);

/// Waits until none but `except` runs in the group. False if that takes longer than `patience`.
bool wait_until_alone(pid_t group, pid_t except, std::chrono::milliseconds patience);

}  // namespace quorumlock::cli
