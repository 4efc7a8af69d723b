#pragma once

#include <deque>

#include "sim/world/draw.hpp"
#include "sim/world/exclusion.hpp"
#include "sim/world/fencing.hpp"
#include "sim/world/history.hpp"
#include "sim/world/order.hpp"
#include "sim/world/referee.hpp"
#include "sim/world/telling.hpp"
#include "sim/world/tidiness.hpp"

namespace quorumlock::sim {

/// The checkers of the promises, which report to the history.
struct Checks {
  Checks(const Draw& draw, std::deque<Operation>& operations, History& history,
         Referee::Times times, Referee::Members members, Referee::Keys keys,
         Referee::IsHeld is_held);

  Exclusion exclusion;
  Fencing fencing;
  Telling telling;
  Tidiness tidiness;
  Order order;
  Referee referee;
};

}  // namespace quorumlock::sim
