#pragma once

#include <cstdint>
#include <string_view>

#include <quorumlock/outcome.hpp>

#include "lock/types.hpp"

namespace quorumlock::core {

/// One node's answer to one command. A field that the command's verb does not set is zero.
struct Answer {
  Vote vote = Vote::pending;
  /// Renew: the key was absent and has been set anew. It counts as a vote only from the next round
  /// on, since another client may have held it on this node in between.
  bool replanted = false;
  /// Acquire, raise, renew: the node's fencing counter after the command; if granted, the number
  /// that this node has voted for. Zero if the node did not report it.
  std::uint64_t fence = 0;
  /// Acquire, raise, renew: the node's own clock while it ran the command, in us since 1970; zero
  /// if not reported.
  std::int64_t node_time = 0;
  /// Every verb: when the command was sent; the node's clock was read between this time and `now`.
  Time asked{};
  /// Acquire in order, if refused, and release: the greatest ticket in the line.
  std::uint64_t greatest_ticket = 0;
  /// Acquire in order, if granted: the next waiter in the line if it is one of ours, else zero.
  std::uint64_t next_waiter = 0;
  /// Release: the lock is free and Send::not_woken is first in its line.
  bool first_in_line = false;
  /// Release: the line has waiters.
  bool waited_for = false;
  /// Acquire a permit, if refused: another slot that is free, zero for none; or the semaphore's
  /// capacity if it differs from the requested one.
  int free_slot = 0;
  int capacity = 0;
  /// Acquire, if refused: the owner token under the key; empty if there is none or several, or if
  /// it was not reported. Valid until the next input.
  std::string_view holder = {};
  /// Acquire, if refused: the time until that may change by itself. Negative: it will not; zero:
  /// not reported.
  Duration due{};
};

}  // namespace quorumlock::core
