#include <cstdio>

#include "chaos/fault.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;

std::string percent(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", (rate - 1) * 100);
  return text;
}

/// Makes the clock run at another rate, and later at the true rate from wherever it is.
class Drift final : public Fault {
 public:
  /// `least` and `most`: the deviation of the rate, in thousandths, to either side.
  Drift(FaultTraits traits, int least, int most)
      : Fault(std::move(traits)), least_(least), most_(most) {}

  std::string inject(World& world, int node) override {
    const int off = between(world.random, least_, most_);
    const double rate = 1 + (world.random() % 2 == 0 ? off : -off) / 1000.0;
    world.nodes.clock(node).run_at(rate);
    return percent(rate);
  }
  void heal(World& world, int node) override { world.nodes.clock(node).run_at(1); }

 private:
  int least_;
  int most_;
};

/// A step forward stays: taking it back would make keys that were set meanwhile last too long. A
/// step back is taken back.
class Step final : public Fault {
 public:
  Step(FaultTraits traits, std::chrono::seconds by) : Fault(std::move(traits)), by_(by) {}

  std::string inject(World& world, int node) override {
    world.nodes.clock(node).step(by_);
    return "";
  }
  void heal(World& world, int node) override {
    if (by_ < 0s) world.nodes.clock(node).step(-by_);
  }

 private:
  std::chrono::seconds by_;
};

}  // namespace

void add_clock_faults(Faults& faults) {
  const auto add = [&](Fault* fault) { faults.emplace_back(fault); };
  add(new Drift({.name = "clock_drift",
                 .words = "clock a little fast or slow, within the allowed 1 %",
                 .least = 3s,
                 .most = 10s},
                1, 9));
  add(new Drift({.name = "clock_drift_beyond",
                 .words = "clock far too fast or slow",
                 .assumption = Assumption::beyond,
                 .least = 500ms,
                 .most = 4s,
                 .forgets = true},
                200, 500));
  add(new Step({.name = "clock_step_forward",
                .words = "clock set forward by a minute",
                .assumption = Assumption::beyond,
                .forgets = true},
               60s));
  add(new Step({.name = "clock_step_back",
                .words = "clock set back by a minute",
                .assumption = Assumption::beyond,
                .least = 500ms,
                .most = 4s,
                .forgets = true},
               -60s));
}

}  // namespace quorumlock::chaos
