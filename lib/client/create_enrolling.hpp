#pragma once

#include <quorumlock/coordinator.hpp>

namespace quorumlock::client {

/// As Coordinator::create, and nodes that are enrolled with another max_ttl are enrolled anew with
/// this one, after the greater of the two. For the operator alone: while that lasts they don't
/// vote.
Result<Coordinator> create_enrolling(Options options);

}  // namespace quorumlock::client
