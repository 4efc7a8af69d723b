#include "chaos/fault.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Weather that is drawn when the fault is made, until it clears up.
class BadWeather final : public Fault {
 public:
  using Draw = std::string (*)(Random& random, Weather& weather);
  BadWeather(FaultTraits traits, Draw draw) : Fault(std::move(traits)), draw_(draw) {}

  std::string inject(World& world, int node) override {
    Weather weather;
    std::string detail = draw_(world.random, weather);
    world.nodes.set_weather(node, weather);
    return detail;
  }
  void heal(World& world, int node) override { world.nodes.set_weather(node, {}); }

 private:
  Draw draw_;
};

class Reset final : public Fault {
 public:
  using Fault::Fault;
  std::string inject(World& world, int node) override {
    world.nodes.reset_connections(node);
    return "";
  }
};

std::string hold_both(Random&, Weather& weather) {
  weather.to_node.held = weather.from_node.held = true;
  return "";
}
std::string hold_requests(Random&, Weather& weather) {
  weather.to_node.held = true;
  return "";
}
std::string hold_replies(Random&, Weather& weather) {
  weather.from_node.held = true;
  return "";
}
std::string lose_both(Random&, Weather& weather) {
  weather.to_node.lost = weather.from_node.lost = true;
  return "";
}
std::string delay(Random& random, Weather& weather) {
  weather.to_node.delay = milliseconds(between(random, 5, 700));
  weather.from_node.delay = milliseconds(between(random, 5, 700));
  return std::to_string(weather.to_node.delay / 1ms) + " ms there, " +
         std::to_string(weather.from_node.delay / 1ms) + " ms back";
}
std::string jitter(Random& random, Weather& weather) {
  weather.to_node.jitter = milliseconds(between(random, 20, 400));
  weather.from_node.jitter = milliseconds(between(random, 20, 400));
  return "up to " + std::to_string(weather.to_node.jitter.count()) + " ms there, " +
         std::to_string(weather.from_node.jitter.count()) + " ms back";
}
std::string trickle(Random& random, Weather& weather) {
  weather.to_node.trickle = weather.from_node.trickle =
      static_cast<std::size_t>(between(random, 1, 20));
  return std::to_string(weather.to_node.trickle) + " kB/s";
}

}  // namespace

void add_network_faults(Faults& faults) {
  const auto add = [&](const char* name, const char* words, BadWeather::Draw draw) {
    faults.emplace_back(
        new BadWeather({.name = name, .words = words, .least = 200ms, .most = 3s}, draw));
  };
  add("partition", "cut off; what was sent arrives when the network is back", hold_both);
  add("partition_to_node", "requests held up, replies pass", hold_requests);
  add("partition_from_node", "requests pass, replies held up", hold_replies);
  add("blackhole", "cut off; what was sent is lost", lose_both);
  add("delay", "slow network", delay);
  add("jitter", "network now fast, now slow", jitter);
  add("trickle", "a few bytes at a time", trickle);
  faults.emplace_back(new Reset({.name = "reset", .words = "all its connections reset"}));
}

}  // namespace quorumlock::chaos
