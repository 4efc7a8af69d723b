#include "sim/world/client.hpp"

#include <algorithm>

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// How far a clock may be from true time so that no two differ by more than the drift factor:
/// 2e / (1 - e) = d. Drawn from the whole range, or from its ends.
double draw_rate(const Draw& draw, test::SeededRandom& random) {
  constexpr double drift = 0.01;
  constexpr double bound = drift / (2 + drift) * 0.999;
  if (draw.clocks_at_the_bound) return random.one_in(2) ? 1 + bound : 1 - bound;
  return 1 + bound * random.between(-1000, 1000) / 1000;
}

}  // namespace

double rate_within_the_bound(const Draw& draw, test::SeededRandom& random) {
  return draw_rate(draw, random);
}

Client::Client(const Draw& draw, std::size_t which, test::SeededRandom& world)
    : number(which),
      random(draw.seed * 1000 + which),
      rate(draw_rate(draw, world)),
      offset(1h + world.between(0, 1'000'000) * 1us),
      wall_offset(1'700'000'000s + world.between(-20'000, 20'000) * 1ms),
      wall_stands(!draw.sane_wall_clocks) {
  begin_life(draw);
}

void Client::begin_life(const Draw& draw) {
  ++life;
  client::Session::Config config;
  config.engine = {.nodes = draw.nodes,
                   .retry_delay = draw.pause,
                   .retry_jitter = draw.pause,
                   .fencing = draw.fencing,
                   .max_ttl = draw.max_ttl,
                   .entry_life = draw.entry_life,
                   .unfolded = 0};
  for (int node = 0; node < draw.nodes; ++node) {
    redis::Link::Config link;
    link.endpoint.host = "n" + std::to_string(node + 1);
    link.node_timeout = draw.node_timeout;
    link.connect_timeout = 2s;
    link.enrolment.max_ttl = draw.max_ttl;
    link.wakes = draw.wakes;
    config.links.push_back(link);
  }
  session = std::make_unique<client::Session>(std::move(config), random, *this);
  // Epochs go on: nothing that was meant for the process before reaches this one.
  wires.resize(2 * static_cast<std::size_t>(draw.nodes));
  for (Wire& wire : wires) {
    ++wire.epoch;
    wire.open = false;
    wire.connection = -1;
  }
  missed.clear();
  paused = false;
  waking = TrueTime::max();
}

core::Time Client::local(TrueTime now) const {
  const double gained = static_cast<double>(now.count()) * (rate - 1);
  return core::Time(offset + now + core::Duration(static_cast<core::Duration::rep>(gained)));
}

TrueTime Client::when(core::Time shown) const {
  if (shown == core::never) return TrueTime::max();
  const core::Duration passed = shown.time_since_epoch() - offset;
  TrueTime at(static_cast<TrueTime::rep>(static_cast<double>(passed.count()) / rate));
  while (at > TrueTime() && local(at - 1ns) >= shown) at -= 1ns;
  while (local(at) < shown) at += 1ns;
  return at;
}

}  // namespace quorumlock::sim
