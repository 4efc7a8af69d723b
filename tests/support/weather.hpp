#pragma once

#include <chrono>
#include <cstddef>

namespace quorumlock::test {

/// How bytes travel one way through the proxy.
struct Course {
  std::chrono::microseconds delay{0};
  std::chrono::milliseconds jitter{0};  ///< most that is added to the delay; drawn for each piece
  bool held = false;                    ///< nothing arrives until this ends; then everything does
  bool lost = false;                    ///< nothing arrives, ever: such a connection is reset later
  std::size_t trickle = 0;              ///< bytes per millisecond; 0: no limit

  bool operator==(const Course&) const = default;
};

/// The network between all workers and one node.
struct Weather {
  Course to_node = {};
  Course from_node = {};
  bool refused = false;  ///< connections are reset, each new one at once
  bool operator==(const Weather&) const = default;
};

}  // namespace quorumlock::test
