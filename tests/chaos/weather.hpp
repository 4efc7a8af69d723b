#pragma once

#include <chrono>
#include <cstddef>

namespace quorumlock::chaos {

/// How bytes travel one way through the proxy.
struct Course {
  std::chrono::milliseconds delay{0};
  std::chrono::milliseconds jitter{0};  ///< up to so much more, drawn for each piece
  bool held = false;                    ///< nothing arrives until it is over; then all of it
  bool lost = false;                    ///< nothing arrives, ever: such a connection is reset later
  std::size_t trickle = 0;              ///< so many bytes a millisecond; 0: as they come

  bool operator==(const Course&) const = default;
};

/// The network between all workers and one node.
struct Weather {
  Course to_node = {};
  Course from_node = {};
  bool refused = false;  ///< connections are reset, and each new one as soon as it comes
  bool operator==(const Weather&) const = default;
};

}  // namespace quorumlock::chaos
