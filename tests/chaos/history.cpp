#include "chaos/history.hpp"

#include <algorithm>

namespace quorumlock::chaos {

Time Holding::end() const {
  switch (ending) {
    // The worker may have been frozen after its last look, and let go long after the end.
    case Ending::released:
    case Ending::detached: return std::max(believed, std::min(noticed, until));
    // The lease expired, or was lost earlier: it is only known to be believed at the last look.
    case Ending::over: return noticed >= until ? until : believed;
    case Ending::unfinished: return until;
  }
  return until;
}

}  // namespace quorumlock::chaos
