#pragma once

#include <string>
#include <vector>

namespace quorumlock::bench {

/// quorumlock's part in bench/peers: plays the turns that it asks for on stdin, on nodes that are
/// there, until its end. A turn is a line, "shared|own RESOURCE FIRST WAITERS START END", with both
/// times in nanoseconds of CLOCK_MONOTONIC; what came of it is a JSON object in a line.
void play_turns(std::vector<std::string> nodes, bool fencing);

}  // namespace quorumlock::bench
