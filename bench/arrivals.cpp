#include <quorumlock/quorumlock.hpp>

#include "arrivals.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contender.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

double milliseconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

/// Raises the descriptor limit: each client has five connections, whose other ends are also here.
void allow_descriptors(int clients) {
  const auto wanted = static_cast<rlim_t>(clients) * 12 + 200;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted) {
    throw std::runtime_error(std::to_string(clients) + " clients need " + std::to_string(wanted) +
                             " descriptors: raise ulimit -n");
  }
}

/// Coordinators on one loop, and the number of them that count every node as connected.
class Crowd {
 public:
  Crowd(const Nodes& nodes, int clients) {
    uv_timer_init(loop_.get(), &alive_);
    uv_timer_start(
        &alive_, [](uv_timer_t*) {}, 1000, 1000);
    for (int i = 0; i < clients; ++i) {
      Options options = nodes.options();
      options.log = [this](std::string_view sentence) {
        if (sentence.find(" is up: ") != sentence.npos) ++connected_;
      };
      Result<Coordinator> made = Coordinator::attach(loop_.get(), std::move(options));
      if (!made) throw std::runtime_error(made.error().what());
      all_.push_back(std::move(*made));
      turn_until(static_cast<std::size_t>(nodes.count()) * all_.size());
    }
  }
  ~Crowd() {
    uv_close(reinterpret_cast<uv_handle_t*>(&alive_), nullptr);
    for (Coordinator& one : all_) one.close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] std::size_t connected() const { return connected_; }
  void turn() { uv_run(loop_.get(), UV_RUN_NOWAIT); }
  void turn_until(std::size_t connected) {
    while (connected_ < connected) uv_run(loop_.get(), UV_RUN_ONCE);
  }

 private:
  Loop loop_;
  uv_timer_t alive_{};  // an idle coordinator does not keep the loop alive
  std::size_t connected_ = 0;
  std::vector<Coordinator> all_;
};

}  // namespace

void print_start_up(const Nodes& nodes, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const char* name : {"floor", "quorumlock", "quorumlock_fenced"}) {
      const SteadyClock::time_point begin = SteadyClock::now();
      const std::unique_ptr<Contender> contender = make_contender(name, nodes);
      run_cycles(*contender, 1, 1);
      std::printf(R"({"round":%d,"contender":"%s","first_cycle_ms":%.3f})"
                  "\n",
                  round, name, milliseconds_since(begin));
      std::fflush(stdout);
    }
  }
}

void print_storm(int clients, int rounds) {
  allow_descriptors(clients);
  Nodes nodes({.durable = true});
  Crowd crowd(nodes, clients);
  const std::unique_ptr<Contender> other = make_contender("quorumlock_fenced", nodes);
  for (int round = 0; round < rounds; ++round) {
    int refused = 0;
    const auto some = [&other, &refused](int cycles) {
      try {
        return run_cycles(*other, 1, cycles);
      } catch (const std::runtime_error&) {
        ++refused;
        return Measurement();
      }
    };
    const Measurement calm = some(300);
    idle(*other, 10);  // otherwise it would find overdue answers that it has not read
    nodes.last().kill();
    const SteadyClock::time_point killed = SteadyClock::now();
    while (milliseconds_since(killed) < 1500) crowd.turn();  // all have noticed, and reconnect
    const std::size_t before = crowd.connected();
    const SteadyClock::time_point begin = SteadyClock::now();
    nodes.last().restart();
    const double restarted = milliseconds_since(begin);
    double half = 0;
    Measurement meanwhile;
    for (std::size_t back = 0; back < static_cast<std::size_t>(clients);) {
      crowd.turn();
      meanwhile.add(some(1));
      back = crowd.connected() - before;
      if (half == 0 && 2 * back >= static_cast<std::size_t>(clients))
        half = milliseconds_since(begin);
    }
    std::printf(R"({"round":%d,"clients":%d,"restarted_ms":%.1f,"half_ms":%.1f,"all_ms":%.1f,)"
                R"("calm_p50_us":%.1f,"storm_p50_us":%.1f,"storm_p99_us":%.1f,"refused":%d})"
                "\n",
                round, clients, restarted, half, milliseconds_since(begin),
                percentile_us(calm.acquire_ns, 0.5), percentile_us(meanwhile.acquire_ns, 0.5),
                percentile_us(meanwhile.acquire_ns, 0.99), refused);
    std::fflush(stdout);
  }
}

}  // namespace quorumlock::bench
