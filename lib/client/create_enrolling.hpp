#pragma once

#include <quorumlock/coordinator.hpp>

namespace quorumlock::client {

/// As Coordinator::create, and nodes that are enrolled with another max_ttl, or for other groups,
/// are enrolled anew with these, after the greater max_ttl of the two. For the operator alone:
/// while that lasts they don't vote.
Result<Coordinator> create_enrolling(Options options);
/// Of such a coordinator with several groups, again and again: vouches for them as soon as no node
/// of any votes on other terms, and all that was granted on such has run out, so that whatever
/// resource moves from one group to another is held in neither. Blocking.
void vouch_for_groups(const Coordinator& coordinator);

}  // namespace quorumlock::client
