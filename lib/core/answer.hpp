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
};

}  // namespace quorumlock::core
