#pragma once

#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

namespace quorumlock::client {

/// Takes away the fencing counters of resources that nobody will ever lock again, on every node
/// that answers. Blocking.
void forget_counters(Coordinator& coordinator, std::vector<std::string> resources);

}  // namespace quorumlock::client
