#include "faults.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "workload.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// A fault of the last node.
class Fault {
 public:
  Fault(std::string_view name, Nodes& nodes) : name_(name), nodes_(nodes) {
    for (const std::string_view known : {"slow", "stopped", "dead", "flapping"}) {
      if (name == known) return;
    }
    throw std::runtime_error("no fault is called " + name_);
  }

  void begin() {
    began_ = SteadyClock::now();
    if (name_ == "stopped") {
      nodes_.last().pause();
    } else if (name_ == "slow") {
      nodes_.set_weather({.to_node = {.delay = 50ms}, .from_node = {.delay = 50ms}});
    } else {
      nodes_.set_weather({.refused = true});
    }
  }
  /// Called repeatedly during the fault.
  void go_on() {
    if (name_ != "flapping") return;
    const bool refused = (SteadyClock::now() - began_) / 300ms % 2 == 0;
    if (refused != refused_) nodes_.set_weather({.refused = refused});
    refused_ = refused;
  }
  void end() {
    if (name_ == "stopped") nodes_.last().resume();
    nodes_.set_weather({});
  }

 private:
  std::string name_;
  Nodes& nodes_;
  SteadyClock::time_point began_;
  bool refused_ = true;
};

/// Runs cycles at 1 in flight for this many seconds.
template <class F>
Measurement run_for(Contender& contender, double seconds, F&& meanwhile) {
  Measurement all;
  while (all.seconds < seconds) {
    all.add(run_cycles(contender, 1, 200));
    meanwhile();
  }
  return all;
}

void print(const char* when, const Measurement& of) {
  std::printf(R"(,"%s_p50_us":%.2f,"%s_p99_us":%.2f,"%s_max_us":%.2f)", when,
              percentile_us(of.acquire_ns, 0.5), when, percentile_us(of.acquire_ns, 0.99), when,
              percentile_us(of.acquire_ns, 1.0));
}

}  // namespace

void print_faults(Field& field, std::string_view name, int pairs) {
  // The run is longer than node_timeout (500 ms), so it includes the timeout and its aftermath.
  constexpr double seconds = 1.2;
  for (int pair = 0; pair < pairs; ++pair) {
    for (const Member& member : field.members) {
      Contender& contender = *member.contender;
      Fault fault(name, *member.nodes);
      run_for(contender, seconds, [] {});  // catches up on the faults during others' turns
      const Measurement healthy = run_for(contender, seconds, [] {});
      fault.begin();
      const Measurement hit = run_for(contender, seconds, [&fault] { fault.go_on(); });
      fault.end();
      std::printf(R"({"pair":%d,"fault":"%s","contender":"%s")", pair, std::string(name).c_str(),
                  member.name.c_str());
      print("healthy", healthy);
      print("hit", hit);
      std::printf("}\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace quorumlock::bench
