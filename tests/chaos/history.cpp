#include "chaos/history.hpp"

#include <algorithm>

namespace quorumlock::chaos {

Time Holding::end() const {
  switch (ending) {
    case Ending::released:
    case Ending::detached: return noticed;
    // It ran out, or it was lost before: then all we know is that it was believed at that look.
    case Ending::over: return noticed >= until ? until : believed;
    case Ending::unfinished: return until;
  }
  return until;
}

}  // namespace quorumlock::chaos
