#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <quorumlock/detail/clock_control.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/testing.hpp>

#include "testing/host.hpp"

namespace quorumlock::testing {
namespace {

using quorumlock::detail::ClockControl;
using quorumlock::detail::turn_loops;

constinit std::atomic<bool> in_use{false};

/// Other threads may keep coordinators busy without end.
constexpr int most_rounds = 10'000;

/// Lets coordinators and nodes do all that is due now, until none has anything left to do. Returns
/// when a coordinator has something to do next.
Clock::time_point settle() {
  std::uint64_t arrived = detail::Host::pump_all();
  for (int round = 1;; ++round) {
    // All that was sent is answered. A loop reads the answers, and sends what follows, before the
    // second of these turns: the first may come before the answers in the same turn.
    turn_loops();
    const Clock::time_point next = turn_loops();
    const std::uint64_t before = std::exchange(arrived, detail::Host::pump_all());
    if ((arrived == before && next > Clock::now()) || round == most_rounds) return next;
  }
}

void check(const char* what, std::chrono::nanoseconds by) {
  if (by >= by.zero()) return;
  throw std::invalid_argument(std::string("cannot ") + what + " by " + to_text(by) +
                              ": the clock never goes back");
}

}  // namespace

ManualClock::ManualClock() {
  if (in_use.exchange(true)) {
    throw std::logic_error("there is a ManualClock already, and the process has one clock");
  }
  ClockControl::stop();
}

ManualClock::~ManualClock() {
  ClockControl::go();
  turn_loops();  // their timers run again
  in_use = false;
}

void ManualClock::advance(std::chrono::nanoseconds by) {
  check("advance", by);
  const Clock::time_point end = Clock::now() + by;
  for (Clock::time_point next = settle(); Clock::now() < end; next = settle()) {
    ClockControl::advance(std::min(next, end) - Clock::now());
  }
}

void ManualClock::suspend(std::chrono::nanoseconds by) {
  check("suspend", by);
  settle();
  ClockControl::advance(by);
  settle();
}

}  // namespace quorumlock::testing
