#include "sim/world/draw.hpp"

#include <algorithm>
#include <array>

#include "support/printing.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::crash: return "crash";
    case Fault::pause_node: return "pause_node";
    case Fault::pause_client: return "pause_client";
    case Fault::reset: return "reset";
    case Fault::partition: return "partition";
    case Fault::delay: return "delay";
    case Fault::flush: return "flush";
    case Fault::refuse: return "refuse";
    case Fault::forget_scripts: return "forget_scripts";
    case Fault::fail_over: return "fail_over";
    case Fault::client_crash: return "client_crash";
    case Fault::clock_step: return "clock_step";
    case Fault::clock_rate: return "clock_rate";
    case Fault::evict: return "evict";
  }
  return "?";
}

Draw Draw::of(std::uint64_t seed) {
  test::SeededRandom random(seed * 2 + 1);
  Draw draw;
  draw.seed = seed;
  draw.nodes = std::array{1, 2, 3, 3, 3, 3, 4, 5, 5, 5}[random.index(10)];
  draw.clients = random.between(1, 4);
  draw.keys = random.one_in(4) ? 2 : 1;
  draw.fencing = !random.one_in(6);
  draw.durable = random.one_in(3);
  draw.sane_wall_clocks = random.one_in(2);
  draw.clocks_at_the_bound = random.one_in(2);
  draw.nodes_agree = random.one_in(3);
  draw.ttl = std::array<core::Duration, 4>{300ms, 1s, 2s, 5s}[random.index(4)];
  draw.max_ttl = random.one_in(2) ? draw.ttl : 2 * draw.ttl;
  draw.delay = std::array<core::Duration, 4>{100us, 5ms, 50ms, 200ms}[random.index(4)];
  draw.hold = draw.ttl * random.between(1, 40) / 10;
  draw.until = draw.max_ttl * random.between(3, 6);
  draw.between_faults = draw.until / random.between(3, 15);
  const bool within = !random.one_in(5);
  const int most = within ? static_cast<int>(Fault::client_crash) : fault_kinds - 1;
  const int likely = random.between(1, 4);
  for (int i = 0; i <= most; ++i) {
    if (random.one_in(likely)) draw.faults.push_back(static_cast<Fault>(i));
  }
  if (draw.durable) std::erase(draw.faults, Fault::fail_over);
  return draw;
}

bool Draw::has(Fault fault) const {
  return std::ranges::find(faults, fault) != faults.end();
}

bool Draw::timing_holds() const {
  // Without fencing a plain SET does not look at the enrolment: FLUSHALL is then noticed late.
  if (!fencing && has(Fault::flush)) return false;
  return !has(Fault::clock_step) && !has(Fault::clock_rate) && !has(Fault::evict);
}

bool Draw::counters_hold() const {
  // Where every node may forget at once the order of tokens rests on the clocks.
  const bool forgets = has(Fault::flush) || has(Fault::fail_over) || (has(Fault::crash) && !durable);
  const bool clocks = has(Fault::clock_step) || has(Fault::clock_rate);
  return !has(Fault::evict) && !(forgets && clocks);
}

std::string Draw::to_string() const {
  const auto yes = [](bool it) { return it ? "yes" : "no"; };
  std::string text = "seed=" + std::to_string(seed) + " nodes=" + std::to_string(nodes) +
                     " clients=" + std::to_string(clients) + " keys=" + std::to_string(keys) +
                     " fencing=" + yes(fencing) + " durable=" + yes(durable) +
                     " sane_wall_clocks=" + yes(sane_wall_clocks) +
                     " clocks_at_the_bound=" + yes(clocks_at_the_bound) +
                     " nodes_agree=" + yes(nodes_agree) + " ttl=" + test::to_text(ttl) + " max_ttl=" + test::to_text(max_ttl) +
                     " delay=" + test::to_text(delay) + " hold=" + test::to_text(hold) +
                     " until=" + test::to_text(until) +
                     " between_faults=" + test::to_text(between_faults) + " faults=";
  for (const Fault fault : faults) {
    text += (text.back() == '=' ? "" : ",") + std::string(sim::to_string(fault));
  }
  return text;
}

}  // namespace quorumlock::sim
