#pragma once

#include <cstdint>

#include <quorumlock/outcome.hpp>

#include "core/types.hpp"

namespace quorumlock::core {

/// What came back for one command to one node.
struct Answer {
  Vote vote = Vote::pending;
  /// Of a renewal: the key was absent, and has been set anew. A vote from the next round on: nobody
  /// knows who had it here in between.
  bool replanted = false;
  /// The fencing counter as the command left it there: where granted, what this node has voted
  /// for. Zero where the node did not say.
  std::uint64_t fence = 0;
  /// The node's own clock while it ran the command, in us since 1970; zero where it did not say.
  std::int64_t node_time = 0;
  /// When the command went out: the node's clock was read between this and `now`.
  Time asked{};
  /// Of an acquisition that was refused: when this may change by itself, from the node's answer on;
  /// zero where it did not say.
  Duration due{};
  /// Of an ordered acquisition. Refused (and of a release): the greatest ticket in the line.
  /// Granted: who is next in it, where that is a waiter of ours; else zero.
  std::uint64_t greatest_ticket = 0;
  std::uint64_t next_waiter = 0;
  /// Of a release: the waiter that was not to be woken is first in the line, and the lock is free.
  bool first_in_line = false;
  /// Of a release: somebody waits in the line.
  bool waited_for = false;
  /// Of an acquisition of a permit that was refused: another slot that is free, zero for none. Or
  /// how many the semaphore has, where that is another number.
  int free_slot = 0;
  int capacity = 0;
  // Of an acquisition that was native.
  bool behind = false;   ///< granted, but no vote: `fence` is what the counter should have reached
  bool key_set = false;  ///< our key was set, although this is no grant
  bool began = false;    ///< a counter began with it on a node that is not enrolled
};

}  // namespace quorumlock::core
