#pragma once

#include <chrono>

#include "lock/types.hpp"

namespace quorumlock::redis {

/// The pause between two tries to connect doubles from the first to the longest; each is a random
/// time in its upper half.
inline constexpr core::Duration first_back_off = std::chrono::milliseconds(20);
inline constexpr core::Duration longest_back_off = std::chrono::seconds(1);

/// The path (NAT, firewalls, load balancers) may have forgotten a connection on which no command of
/// a user was answered for this long, and then silently drops what is sent. Nothing is known to
/// forget after less than some tens of seconds; and a client at work hears from its nodes more
/// often than this, so that a node which falls silent meanwhile is taken for stalled.
inline constexpr core::Duration idle_may_be_forgotten = std::chrono::seconds(10);

}  // namespace quorumlock::redis
