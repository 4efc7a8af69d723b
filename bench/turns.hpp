#pragma once

#include <string>
#include <vector>

namespace quorumlock::bench {

/// Plays quorumlock's part in bench/peers: the turns that stdin requests, on running nodes, until
/// stdin ends. A turn is a line, "shared|own RESOURCE FIRST WAITERS START END", with both times in
/// nanoseconds of CLOCK_MONOTONIC; its result is a JSON object in a line.
void play_turns(std::vector<std::string> nodes, bool fencing);

}  // namespace quorumlock::bench
