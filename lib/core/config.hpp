#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/quorum.hpp"
#include "core/types.hpp"

namespace quorumlock::core {

/// The options that an engine has to know, already checked.
struct Config {
  int nodes = 0;  ///< the number of nodes at first, see Engine::add_node()
  double drift_factor = 0.01;
  Duration retry_delay{};
  Duration retry_jitter{};
  bool fencing = false;
  Duration max_ttl =
      std::chrono::seconds(30);  ///< how long a node with a wrong clock is mistrusted
  /// How long a fencing counter lives after its last write. When a node's counter runs out, that
  /// much time has passed on its clock, so its TIME less half of this exceeds the counter.
  Duration fencing_memory = std::chrono::hours(24);
  std::string label = {};  ///< the label in our owner tokens; empty: none
  /// Prefixes of resources' names that are counted separately, and how many bytes the keys of locks
  /// and of semaphores have in front of the names.
  struct Classes {
    std::vector<std::string> prefixes = {};
    std::size_t before_name = 0, before_semaphore = 0;
  } classes = {};
  /// How long an entry in a line lives unless refreshed; it is refreshed three times as often.
  Duration entry_life = std::chrono::seconds(3);
  /// The most renew rounds out at once that no quorum has answered yet. More would queue at the
  /// nodes, ahead of every client's acquires. By Little's law this is enough for 64,000 renewals
  /// a second, which 1,000,000 leases of a minute need, over a round trip of 100 ms.
  int renewals_out = 6400;
  /// The most attempts at a lock out at once that no quorum has answered yet. First attempts
  /// beyond that are queued here, since a large burst would run into node_timeout at the nodes.
  /// By Little's law this is enough for 10,000 acquisitions a second over a round trip of 100 ms,
  /// and over one of 10 ms for more than five nodes can do. At a node that takes 50 us for each
  /// attempt, they queue for 50 ms, a tenth of the usual node_timeout.
  int acquisitions_out = 1024;
  /// How long an acquisition that does not wait may be queued here. A shorter wait is a brief one:
  /// its end does not cut the first attempt short.
  Duration send_within = std::chrono::milliseconds(500);

  /// The time between two looks at, and refreshes of, an entry in a line.
  [[nodiscard]] Duration refresh_every() const { return entry_life / 3; }
  /// The usual pause between two attempts, drawn anew for each.
  [[nodiscard]] Duration pause(Random& random) const {
    return retry_delay + random.below(retry_jitter);
  }
};

/// The least pause, whatever the options say, before a failed renewal is tried again, and after an
/// attempt that found no quorum, which may have been lost at once.
inline constexpr Duration shortest_pause = std::chrono::milliseconds(2);

}  // namespace quorumlock::core
