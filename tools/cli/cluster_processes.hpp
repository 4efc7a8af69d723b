#pragma once

#include <sys/types.h>

#include <vector>

#include "local/server.hpp"

namespace quorumlock::cli {

/// The process that runs this node: the one that its pid file names, if it is a redis-server in
/// the node's directory. 0 if there is none.
pid_t process_of(const local::ServerSettings& node);

/// Ends the nodes' processes (SIGTERM, SIGKILL to one that takes long) and returns when they are
/// gone; how many there were. Throws Failure.
int end_processes(const std::vector<local::ServerSettings>& nodes);

/// The nodes that answer.
std::vector<bool> answering(const std::vector<local::ServerSettings>& nodes);

}  // namespace quorumlock::cli
