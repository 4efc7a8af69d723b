#pragma once

#include <sys/types.h>

#include <vector>

#include "local/server.hpp"

namespace quorumlock::cli {

/// Returns the process that runs this node: the one in its pid file, if it is a redis-server in the
/// node's directory; 0 if there is none.
pid_t process_of(const local::ServerSettings& node);

/// Ends the nodes' processes (SIGTERM, then SIGKILL to a slow one), waits until they are gone and
/// returns how many there were. Throws Failure.
int end_processes(const std::vector<local::ServerSettings>& nodes);

/// Returns for each node whether it answers.
std::vector<bool> answering(const std::vector<local::ServerSettings>& nodes);

}  // namespace quorumlock::cli
