#include <quorumlock/quorumlock.hpp>

#include "hand_over.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

struct Arrangement {
  std::string_view name;
  int processes;
  int waiters;
  WaitOrder order = WaitOrder::fifo;
  int names = 1;
};

/// Waiters of one lock or of several, dealt to `processes` coordinators, which stand for processes:
/// each has its own connections, and all of them share this thread.
class Crowd {
 public:
  Crowd(const Nodes& nodes, const Arrangement& of) : order_(of.order) {
    for (int i = 0; i < of.processes; ++i) {
      Options options = nodes.options();
      options.retry = {10ms, 10ms};
      Result<Coordinator> coordinator = Coordinator::attach(loop_.get(), std::move(options));
      if (!coordinator) throw std::runtime_error(coordinator.error().what());
      coordinators_.push_back(std::move(*coordinator));
    }
    for (int i = 0; i < of.names; ++i) names_.push_back("bench/one/" + std::to_string(i));
    waiters_.resize(static_cast<std::size_t>(of.waiters));
  }
  ~Crowd() {
    for (Coordinator& coordinator : coordinators_) coordinator.close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// Lets the waiters take turns for this long; returns the actual seconds.
  double run(std::chrono::milliseconds span) {
    begin();
    const auto begun = SteadyClock::now();
    while (SteadyClock::now() - begun < span) uv_run(loop_.get(), UV_RUN_ONCE);
    return seconds_since(begun);
  }
  /// Lets the waiters take as many turns as there are waiters; returns the seconds.
  double run_once_each() {
    begin();
    const auto begun = SteadyClock::now();
    while (turns() < static_cast<long>(waiters_.size())) uv_run(loop_.get(), UV_RUN_ONCE);
    return seconds_since(begun);
  }
  /// Turns the loop until every waiter has had a turn since the last run began.
  void serve_all() {
    while (served_ < waiters_.size()) uv_run(loop_.get(), UV_RUN_ONCE);
  }
  /// Cancels the waits, and waits until there is no holder, and nobody in a line.
  void finish(const Nodes& nodes) {
    going_ = false;
    stop_.request_stop();
    while (active_ > 0) uv_run(loop_.get(), UV_RUN_ONCE);
    while (nodes.has_waiters()) uv_run(loop_.get(), UV_RUN_NOWAIT);
  }

  /// Returns the longest time between two turns of any waiters.
  [[nodiscard]] double longest_ms() const {
    return std::chrono::duration<double, std::milli>(longest_).count();
  }
  [[nodiscard]] long turns() const { return turns_; }
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

  void begin() {
    for (Waiter& waiter : waiters_) waiter.turns = 0;
    turns_ = 0;
    served_ = 0;
    longest_ = {};
    last_ = SteadyClock::now();
    going_ = true;
    if (active_ == 0) {
      for (std::size_t i = 0; i < waiters_.size(); ++i) wait(i);
    }
  }

  void wait(std::size_t which) {
    if (!going_) return;
    ++active_;
    Coordinator& coordinator = coordinators_[which % coordinators_.size()];
    coordinator.async_acquire(
        names_[which % names_.size()], {.wait = forever, .order = order_}, stop_.get_token(),
        [this, which](Result<Lease> lease) { granted(waiters_[which], which, std::move(lease)); });
  }

  void granted(Waiter& waiter, std::size_t which, Result<Lease> lease) {
    if (!lease) {
      if (going_) throw std::runtime_error(lease.error().what());
      --active_;
      return;
    }
    const auto now = SteadyClock::now();
    longest_ = std::max(longest_, now - last_);
    last_ = now;
    ++turns_;
    if (++waiter.turns == 1) ++served_;
    waiter.lease = std::move(*lease);
    waiter.lease.async_release([this, which](const Result<void>&) {
      waiters_[which].lease = Lease();
      --active_;
      wait(which);
    });
  }

  WaitOrder order_;
  Loop loop_;
  std::vector<Coordinator> coordinators_;
  std::vector<std::string> names_;
  std::vector<Waiter> waiters_;
  std::stop_source stop_;
  SteadyClock::time_point last_ = SteadyClock::now();
  SteadyClock::duration longest_{};
  long turns_ = 0;
  std::size_t served_ = 0;  ///< waiters that have had a turn
  bool going_ = false;
  int active_ = 0;
};

void print(const Nodes& nodes, int round, const Arrangement& one, double alone) {
  Crowd crowd(nodes, one);
  crowd.run(300ms);  // warm
  const std::int64_t before = nodes.commands();
  const double seconds = crowd.run(1s);
  const std::int64_t after = nodes.commands();
  const auto turns = static_cast<double>(crowd.turns());
  const double jain = crowd.jain();
  const double longest_ms = crowd.longest_ms();
  crowd.finish(nodes);
  std::printf(R"({"round":%d,"arrangement":"%s","processes":%d,"waiters":%d,)"
              R"("hand_overs_per_s":%.1f,"alone_cycles_per_s":%.1f,"ratio":%.3f,"jain":%.4f,)"
              R"("commands_per_hand_over":%.1f,"longest_ms":%.1f})"
              "\n",
              round, std::string(one.name).c_str(), one.processes, one.waiters, turns / seconds,
              alone, turns / seconds / alone, jain,
              turns == 0 ? 0 : static_cast<double>(after - before) / turns, longest_ms);
  std::fflush(stdout);
}

/// The user and system time of this thread, in microseconds.
double cpu_us() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

void print_crowd(const Nodes& nodes, int round, const Arrangement& one, double alone) {
  Crowd crowd(nodes, one);
  const Work before = nodes.work();
  const double client_before = cpu_us();
  const auto begun = SteadyClock::now();
  crowd.run_once_each();
  const double jain = crowd.jain();
  const auto first = static_cast<double>(crowd.turns());
  crowd.serve_all();
  const double served_s = seconds_since(begun);
  const double longest_ms = crowd.longest_ms();
  const double seconds = crowd.run_once_each();
  const auto turns = static_cast<double>(crowd.turns());
  const double client = cpu_us() - client_before;
  const Work after = nodes.work();
  crowd.finish(nodes);
  std::printf(R"({"round":%d,"waiters":%d,"names":%d,"served_s":%.4f,"jain":%.4f,)"
              R"("hand_overs_per_s":%.1f,"alone_cycles_per_s":%.1f,"ratio":%.3f,)"
              R"("longest_ms":%.1f,"cpu_us":%.2f,"server_us":%.2f,"bytes":%.0f})"
              "\n",
              round, one.waiters, one.names, served_s, jain, turns / seconds, alone,
              turns / seconds / alone, longest_ms, client / (first + turns),
              (after.cpu_us - before.cpu_us) / (first + turns),
              (after.bytes - before.bytes) / (first + turns));
  std::fflush(stdout);
}

}  // namespace

void print_crowds(const Nodes& nodes, int rounds,
                  const std::vector<std::pair<int, int>>& waiters_and_names) {
  const std::unique_ptr<Contender> single = make_contender("quorumlock_fenced", nodes);
  run_cycles(*single, 1, 500);
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [waiters, names] : waiters_and_names) {
      const double alone = run_cycles(*single, 1, 2500).rate();
      idle(*single, 10);
      print_crowd(nodes, round, {"one process", 1, waiters, WaitOrder::fifo, names}, alone);
    }
  }
}

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
