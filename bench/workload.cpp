#include "workload.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "allocations.hpp"

namespace quorumlock::bench {
namespace {

using Steady = std::chrono::steady_clock;

/// One slot in `timed` is timed, as reading the clock for each would distort the measurement.
constexpr int timed = 16;

class Workload final : public Client {
 public:
  Workload(Contender& contender, int in_flight, std::int64_t cycles, Measurement& into)
      : contender_(contender),
        into_(into),
        left_(cycles),
        in_flight_(in_flight),
        began_(static_cast<std::size_t>(in_flight / timed + 1)) {}

  void run() {
    contender_.serve(*this);
    contender_.prepare(in_flight_);
    const int slots = static_cast<int>(std::min<std::int64_t>(in_flight_, left_));
    for (int slot = 0; slot < slots; ++slot) begin(slot);
    while (busy_ > 0) uv_run(contender_.loop(), UV_RUN_ONCE);
    if (refused_ > 0) {
      throw std::runtime_error(std::string(contender_.name()) + ": " + std::to_string(refused_) +
                               " operations refused");
    }
  }

 private:
  void begin(int slot) {
    --left_;
    ++busy_;
    if (slot % timed == 0) began(slot) = Steady::now();
    contender_.acquire(slot);
  }

  void acquired(int slot, bool granted) override {
    if (slot % timed == 0) note(slot, into_.acquire_ns);
    if (granted) return contender_.release(slot);
    ++refused_;
    --busy_;
  }

  void released(int slot, bool done) override {
    if (slot % timed == 0) note(slot, into_.release_ns);
    if (!done) ++refused_;
    ++into_.cycles;
    --busy_;
    if (left_ > 0) begin(slot);
  }

  Steady::time_point& began(int slot) { return began_[static_cast<std::size_t>(slot / timed)]; }
  void note(int slot, std::vector<std::uint32_t>& samples) {
    const Steady::time_point now = Steady::now();
    samples.push_back(static_cast<std::uint32_t>((now - began(slot)).count()));
    began(slot) = now;
  }

  Contender& contender_;
  Measurement& into_;
  std::int64_t left_;
  int in_flight_;
  int busy_ = 0;
  int refused_ = 0;
  std::vector<Steady::time_point> began_;  // when the timed slots began
};

double microseconds(timeval time) {
  return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
}

}  // namespace

void Measurement::add(const Measurement& other) {
  cycles += other.cycles;
  seconds += other.seconds;
  user_us += other.user_us;
  system_us += other.system_us;
  allocations += other.allocations;
  servers.cpu_us += other.servers.cpu_us;
  servers.bytes += other.servers.bytes;
  servers.script_us += other.servers.script_us;
  servers.command_us += other.servers.command_us;
  acquire_ns.insert(acquire_ns.end(), other.acquire_ns.begin(), other.acquire_ns.end());
  release_ns.insert(release_ns.end(), other.release_ns.begin(), other.release_ns.end());
}

Measurement run_cycles(Contender& contender, int in_flight, std::int64_t cycles) {
  Measurement result;
  const auto samples = static_cast<std::size_t>(4 * cycles / std::min(in_flight, timed) + 64);
  result.acquire_ns.reserve(samples);
  result.release_ns.reserve(samples);
  Workload workload(contender, in_flight, cycles, result);

  rusage before{};
  rusage after{};
  const std::uint64_t blocks = allocations();
  getrusage(RUSAGE_THREAD, &before);
  const Steady::time_point start = Steady::now();
  workload.run();
  result.seconds = std::chrono::duration<double>(Steady::now() - start).count();
  getrusage(RUSAGE_THREAD, &after);
  result.allocations = allocations() - blocks;
  result.user_us = microseconds(after.ru_utime) - microseconds(before.ru_utime);
  result.system_us = microseconds(after.ru_stime) - microseconds(before.ru_stime);
  return result;
}

void idle(Contender& contender, std::uint64_t ms) {
  uv_timer_t timer;
  uv_timer_init(contender.loop(), &timer);
  bool over = false;
  timer.data = &over;
  uv_timer_start(
      &timer, [](uv_timer_t* fired) { *static_cast<bool*>(fired->data) = true; }, ms, 0);
  while (!over) uv_run(contender.loop(), UV_RUN_ONCE);
  over = false;
  uv_close(reinterpret_cast<uv_handle_t*>(&timer),
           [](uv_handle_t* closed) { *static_cast<bool*>(closed->data) = true; });
  while (!over) uv_run(contender.loop(), UV_RUN_NOWAIT);
}

}  // namespace quorumlock::bench
