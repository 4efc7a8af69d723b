#include "sim/world/checks.hpp"

#include <utility>

namespace quorumlock::sim {

namespace {

/// The longest time that a wake-up may take: some rounds of messages. There is no limit unless
/// looks are rarer than that.
TrueTime patience(const Draw& draw) {
  const TrueTime rounds = 240 * draw.delay;
  return draw.entry_life / 3 > rounds ? rounds : TrueTime::max();
}

/// What may be demanded of this draw. The fault whose harm is looked for is none of its faults.
Draw demanded(Draw draw) {
  if (sought.by) std::erase(draw.faults, *sought.by);
  return draw;
}

auto reports_to(History& history) {
  return [&history](const auto& what) { history.report(what); };
}

}  // namespace

Checks::Checks(const Draw& draw, std::deque<Operation>& operations, History& history,
               Referee::Times times, Referee::Members members, Referee::Keys keys,
               Referee::IsHeld is_held)
    : exclusion(operations, demanded(draw).timing_holds(), reports_to(history)),
      fencing(draw.fencing && demanded(draw).counters_hold(), demanded(draw).timing_holds(),
              reports_to(history)),
      telling(reports_to(history)),
      tidiness(reports_to(history)),
      order(operations, draw.order_holds(), patience(draw), reports_to(history)),
      referee(draw.servers(), draw.has(Fault::forge) ? draw.nodes - 1 : -1, reports_to(history),
              std::move(times), std::move(members), std::move(keys), std::move(is_held)) {
  if (draw.has(Fault::evict)) referee.ask_for_no_vouchers();
}

}  // namespace quorumlock::sim
