#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lock/quorum.hpp"
#include "lock/types.hpp"

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
  /// Prefixes of resources' names that are counted separately, and what keys have in front of the
  /// names: the prefix of a kind, if it has one, and this many bytes.
  struct Classes {
    std::vector<std::string> prefixes = {};
    std::span<const std::string_view> kinds = {};
    std::size_t before_name = 0;
  } classes = {};
  /// How long an entry in a line lives unless refreshed; it is refreshed three times as often.
  Duration entry_life = std::chrono::seconds(3);
  /// The widest window of a node: see Admission. By Little's law this is enough for 64,000 renewals
  /// a second, which 1,000,000 leases of a minute need, over a round trip of 100 ms.
  int window = 6400;
  /// A node's window at first: one batch of acquisitions. It is twice as wide a round trip later.
  int first_window = 32;
  /// How long an acquisition that does not wait may be queued here. An answer is late for the
  /// Admission if it comes a quarter of this later than usual.
  Duration send_within = std::chrono::milliseconds(500);

  /// The time between two looks at, and refreshes of, an entry in a line, unless nodes are slow.
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
