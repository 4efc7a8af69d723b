#include "sim/world/client_clocks.hpp"

#include <algorithm>

namespace quorumlock::sim {

using namespace std::chrono_literals;

double rate_within_the_bound(const Draw& draw, test::SeededRandom& random) {
  constexpr double drift = 0.01;
  constexpr double bound = drift / (2 + drift) * 0.999;
  if (draw.clocks_at_the_bound) return random.one_in(2) ? 1 + bound : 1 - bound;
  return 1 + bound * random.between(-1000, 1000) / 1000;
}

ClientClocks::ClientClocks(const Draw& draw, test::SeededRandom& world)
    : rate_(rate_within_the_bound(draw, world)),
      offset_(1h + world.between(0, 1'000'000) * 1us),
      wall_offset_(1'700'000'000s + world.between(-20'000, 20'000) * 1ms),
      wall_stands_(!draw.sane_wall_clocks) {}

void ClientClocks::begin_turn(TrueTime now) {
  wall_us_ = wall_stands_ ? 1 : (now + wall_offset_) / 1us;
}

/// The time that the clock shows after it has run for `counted`.
core::Time ClientClocks::shown(TrueTime counted) const {
  const double gained = static_cast<double>(counted.count()) * (rate_ - 1);
  return core::Time(offset_ + counted + core::Duration(static_cast<core::Duration::rep>(gained)));
}

core::Time ClientClocks::local(TrueTime now) const {
  TrueTime counted = now;
  for (const Stood& each : stood_) {
    counted -= std::clamp(now - each.from, TrueTime(), each.span);
  }
  return shown(counted);
}

TrueTime ClientClocks::when(core::Time wanted) const {
  if (wanted == core::never) return TrueTime::max();
  const core::Duration passed = wanted.time_since_epoch() - offset_;
  TrueTime at(static_cast<TrueTime::rep>(static_cast<double>(passed.count()) / rate_));
  while (at > TrueTime() && shown(at - 1ns) >= wanted) at -= 1ns;
  while (shown(at) < wanted) at += 1ns;
  for (const Stood& each : stood_) {
    if (at > each.from) at += each.span;
  }
  return at;
}

}  // namespace quorumlock::sim
