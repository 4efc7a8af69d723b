#include "chaos/history.hpp"

#include <algorithm>

namespace quorumlock::chaos {

Time Holding::end() const {
  switch (ending) {
    // It may have been frozen behind its last look, and let go long after the end.
    case Ending::released:
    case Ending::detached: return std::max(believed, std::min(noticed, until));
    // It ran out, or it was lost before: then all we know is that it was believed at that look.
    case Ending::over: return noticed >= until ? until : believed;
    case Ending::unfinished: return until;
  }
  return until;
}

}  // namespace quorumlock::chaos
