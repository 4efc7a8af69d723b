#include <quorumlock/quorumlock.hpp>

#include "hand_over.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "contender.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// `waiters` waiters of one lock, dealt to `processes` coordinators, which stand for processes:
/// each has its own connections, and all of them share this thread.
class Crowd {
 public:
  Crowd(const Nodes& nodes, int processes, int waiters, WaitOrder order) : order_(order) {
    for (int i = 0; i < processes; ++i) {
      Options options = nodes.options();
      options.retry = {10ms, 10ms};
      Result<Coordinator> coordinator = Coordinator::attach(loop_.get(), std::move(options));
      if (!coordinator) throw std::runtime_error(coordinator.error().what());
      coordinators_.push_back(std::move(*coordinator));
    }
    waiters_.resize(static_cast<std::size_t>(waiters));
  }
  ~Crowd() {
    for (Coordinator& coordinator : coordinators_) coordinator.close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Lets the waiters take turns for this long; returns the actual seconds.
  double run(std::chrono::milliseconds span) {
    for (Waiter& waiter : waiters_) waiter.turns = 0;
    longest_ = {};
    last_ = SteadyClock::now();
    going_ = true;
    if (active_ == 0) {
      for (std::size_t i = 0; i < waiters_.size(); ++i) wait(i);
    }
    const auto begun = SteadyClock::now();
    while (SteadyClock::now() - begun < span) uv_run(loop_.get(), UV_RUN_ONCE);
    return std::chrono::duration<double>(SteadyClock::now() - begun).count();
  }
  /// Waits until there is no holder or waiter.
  void finish() {
    going_ = false;
    while (active_ > 0) uv_run(loop_.get(), UV_RUN_ONCE);
  }

  /// Returns the longest time between two turns of any waiters.
  [[nodiscard]] double longest_ms() const {
    return std::chrono::duration<double, std::milli>(longest_).count();
  }
  [[nodiscard]] long turns() const {
    long all = 0;
    for (const Waiter& waiter : waiters_) all += waiter.turns;
    return all;
  }
  /// Returns Jain's index: 1 if all had equally many turns, 1 / n if one of n had all.
  [[nodiscard]] double jain() const {
    double sum = 0;
    double squares = 0;
    for (const Waiter& waiter : waiters_) {
      const auto turns = static_cast<double>(waiter.turns);
      sum += turns;
      squares += turns * turns;
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(waiters_.size()) * squares);
  }

 private:
  struct Waiter {
    Lease lease;
    long turns = 0;
  };

  void wait(std::size_t which) {
    if (!going_) return;
    ++active_;
    Coordinator& coordinator = coordinators_[which % coordinators_.size()];
    coordinator.async_acquire("bench/one", {.wait = forever, .order = order_}, {},
                              [this, which](Result<Lease> lease) {
                                if (!lease) throw std::runtime_error(lease.error().what());
                                const auto now = SteadyClock::now();
                                longest_ = std::max(longest_, now - last_);
                                last_ = now;
                                Waiter& waiter = waiters_[which];
                                ++waiter.turns;
                                waiter.lease = std::move(*lease);
                                waiter.lease.async_release([this, which](const Result<void>&) {
                                  waiters_[which].lease = Lease();
                                  --active_;
                                  wait(which);
                                });
                              });
  }

  WaitOrder order_;
  Loop loop_;
  std::vector<Coordinator> coordinators_;
  std::vector<Waiter> waiters_;
  SteadyClock::time_point last_ = SteadyClock::now();
  SteadyClock::duration longest_{};
  bool going_ = false;
  int active_ = 0;
};

struct Arrangement {
  std::string_view name;
  int processes;
  int waiters;
  WaitOrder order = WaitOrder::fifo;
};

void print(const Nodes& nodes, int round, const Arrangement& one, double alone) {
  Crowd crowd(nodes, one.processes, one.waiters, one.order);
  crowd.run(300ms);  // warm
  const std::int64_t before = nodes.commands();
  const double seconds = crowd.run(1s);
  const std::int64_t after = nodes.commands();
  const auto turns = static_cast<double>(crowd.turns());
  const double jain = crowd.jain();
  const double longest_ms = crowd.longest_ms();
  crowd.finish();
  std::printf(R"({"round":%d,"arrangement":"%s","processes":%d,"waiters":%d,)"
              R"("hand_overs_per_s":%.1f,"alone_cycles_per_s":%.1f,"ratio":%.3f,"jain":%.4f,)"
              R"("commands_per_hand_over":%.1f,"longest_ms":%.1f})"
              "\n",
              round, std::string(one.name).c_str(), one.processes, one.waiters, turns / seconds,
              alone, turns / seconds / alone, jain,
              turns == 0 ? 0 : static_cast<double>(after - before) / turns, longest_ms);
  std::fflush(stdout);
}

}  // namespace

void print_hand_overs(const Nodes& nodes, int rounds) {
  static constexpr Arrangement all[] = {
      {"one process", 1, 2},    {"one process", 1, 8},
      {"one process", 1, 64},   {"four processes", 4, 64},
      {"each its own", 2, 2},   {"each its own", 8, 8},
      {"each its own", 64, 64}, {"unordered, each its own", 64, 64, WaitOrder::unordered},
      {"one process", 1, 512},  {"64 processes", 64, 512},
  };
  const std::unique_ptr<Contender> single = make_contender("quorumlock_fenced", nodes);
  run_cycles(*single, 1, 500);
  for (int round = 0; round < rounds; ++round) {
    for (const Arrangement& one : all) {
      const double alone = run_cycles(*single, 1, 2500).rate();
      idle(*single, 10);
      print(nodes, round, one, alone);
    }
  }
}

}  // namespace quorumlock::bench
