#include <quorumlock/quorumlock.hpp>

#include "replace.hpp"

#include <uv.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "contender.hpp"
#include "local/percentile.hpp"
#include "nodes.hpp"
#include "replacement.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using local::percentile_us;
using SteadyClock = std::chrono::steady_clock;

/// Each client waits this long after a cycle, so that the machine has time to spare.
constexpr std::uint64_t pause_ms = 20;
/// One client after the other gets the new nodes.
constexpr std::chrono::milliseconds between_clients{50};

/// The clients' observations in one phase.
struct Phase {
  std::vector<std::uint32_t> acquire_ns;
  int failures = 0;
  std::string why;  ///< the first failure

  void add(const Phase& other) {
    acquire_ns.insert(acquire_ns.end(), other.acquire_ns.begin(), other.acquire_ns.end());
    failures += other.failures;
    if (why.empty()) why = other.why;
  }
};

class Client {
 public:
  Client(uv_loop_t* loop, const Options& options, int number, Phase*& phase)
      : coordinator_(Coordinator::attach(loop, options).value()),
        name_("replace/" + std::to_string(number)),
        phase_(phase) {
    uv_timer_init(loop, &timer_);
    timer_.data = this;
    coordinator_.async_acquire(name_ + "/kept", {.ttl = options.max_ttl, .wait = 20s}, {},
                               [this](Result<Lease> lease) {
                                 if (lease) kept_ = std::move(*lease);
                                 ready_ = true;
                                 cycle();
                               });
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] bool keeps() const { return kept_.is_valid(); }
  [[nodiscard]] int disordered() const { return disordered_; }
  [[nodiscard]] bool idle() const { return idle_; }
  void set_nodes(const quorumlock::Nodes& nodes) { coordinator_.set_nodes(nodes).value(); }
  void end() { ends_ = true; }
  void close() {
    kept_ = Lease();
    coordinator_.close();
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
  }

 private:
  void cycle() {
    if (ends_) {
      idle_ = true;
      return;
    }
    const SteadyClock::time_point begun = SteadyClock::now();
    coordinator_.async_acquire(name_, {}, {}, [this, begun](Result<Lease> lease) {
      Phase& phase = *phase_;
      const auto took = std::chrono::nanoseconds(SteadyClock::now() - begun).count();
      if (!lease) {
        if (phase.failures++ == 0) phase.why = lease.error().what();
        return pause();
      }
      phase.acquire_ns.push_back(
          static_cast<std::uint32_t>(std::min<std::int64_t>(took, UINT32_MAX)));
      if (lease->fencing_token() <= token_) ++disordered_;
      token_ = lease->fencing_token();
      lease_ = std::move(*lease);
      lease_.async_release([this](const Result<void>&) { pause(); });
    });
  }
  void pause() {
    uv_timer_start(
        &timer_, [](uv_timer_t* timer) { static_cast<Client*>(timer->data)->cycle(); }, pause_ms,
        0);
  }

  Coordinator coordinator_;
  std::string name_;
  Phase*& phase_;
  uv_timer_t timer_{};
  Lease kept_, lease_;
  std::uint64_t token_ = 0;
  int disordered_ = 0;
  bool ready_ = false, ends_ = false, idle_ = false;
};

class Clients {
 public:
  Clients(const Options& options, int clients) {
    for (int i = 0; i < clients; ++i) {
      all_.push_back(std::make_unique<Client>(loop_.get(), options, i, phase_));
    }
    turn_until([this] { return std::ranges::all_of(all_, &of_pointer<&Client::ready>); });
  }
  ~Clients() {
    for (const auto& one : all_) one->end();
    turn_until([this] { return std::ranges::all_of(all_, &of_pointer<&Client::idle>); });
    for (const auto& one : all_) one->close();
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void turn_until(const std::function<bool()>& is_so) {
    while (!is_so()) uv_run(loop_.get(), UV_RUN_ONCE);
  }
  /// Goes on until `is_so`, and returns what the clients have seen meanwhile.
  Phase watch_until(const std::function<bool()>& is_so) {
    Phase phase;
    phase_ = &phase;
    turn_until(is_so);
    phase_ = &other_;
    return phase;
  }
  Phase watch_for(std::chrono::milliseconds span) {
    const SteadyClock::time_point end = SteadyClock::now() + span;
    return watch_until([end] { return SteadyClock::now() >= end; });
  }
  /// Gives these nodes to the clients, one after the other; called again and again.
  void give(const quorumlock::Nodes& nodes) {
    if (given_ == all_.size() || SteadyClock::now() < give_next_) return;
    all_[given_++]->set_nodes(nodes);
    give_next_ = SteadyClock::now() + between_clients;
  }
  void give_anew() { given_ = 0; }
  [[nodiscard]] long lost() const {
    return std::ranges::count_if(all_, [](const auto& one) { return !one->keeps(); });
  }
  [[nodiscard]] int disordered() const {
    int all = 0;
    for (const auto& one : all_) all += one->disordered();
    return all;
  }

 private:
  template <auto method>
  static bool of_pointer(const std::unique_ptr<Client>& one) {
    return (one.get()->*method)();
  }

  Loop loop_;
  Phase other_;
  Phase* phase_ = &other_;
  std::vector<std::unique_ptr<Client>> all_;
  std::size_t given_ = 0;
  SteadyClock::time_point give_next_;
};

}  // namespace

bool print_replacements(int clients, int rounds, std::chrono::seconds max_ttl) {
  Nodes nodes({.spares = 1, .max_ttl = max_ttl});
  Options options = nodes.options();
  Clients all(options, clients);
  bool good = true;
  for (int round = 0; round < rounds; ++round) {
    // The last node gives way to the spare one, and later the other way round.
    nodes.swap_spare();
    options.nodes = nodes.urls();
    all.watch_for(500ms);
    const Phase before = all.watch_for(max_ttl / 2);
    all.give_anew();
    const auto replacement = std::make_unique<Replacement>(options);
    Phase during;
    std::array<double, Replacement::steps> p99_of_step{};
    for (int step = Replacement::announced; step < Replacement::steps; ++step) {
      const Phase phase = all.watch_until([&] {
        all.give(options.nodes);
        return replacement->over() || replacement->step() > step;
      });
      p99_of_step[static_cast<std::size_t>(step)] = percentile_us(phase.acquire_ns, 0.99);
      during.add(phase);
    }
    if (!replacement->trouble().empty()) throw std::runtime_error(replacement->trouble());
    const double calm = percentile_us(before.acquire_ns, 0.99);
    const double changing = percentile_us(during.acquire_ns, 0.99);
    std::printf(
        R"({"round":%d,"clients":%d,"change_s":%.1f,"cycles_before":%zu,)"
        R"("cycles_during":%zu,"before_p50_us":%.1f,"during_p50_us":%.1f,)"
        R"("before_p99_us":%.1f,"during_p99_us":%.1f,"p99_ratio":%.2f,"during_max_us":%.1f,)"
        R"("announced_p99_us":%.1f,"committed_p99_us":%.1f,"settled_p99_us":%.1f,)"
        R"("failed_before":%d,"failed_during":%d,"lost":%ld,"tokens_out_of_order":%d})"
        "\n",
        round, clients, replacement->seconds(), before.acquire_ns.size(), during.acquire_ns.size(),
        percentile_us(before.acquire_ns, 0.5), percentile_us(during.acquire_ns, 0.5), calm,
        changing, changing / calm, percentile_us(during.acquire_ns, 1.0),
        p99_of_step[Replacement::announced], p99_of_step[Replacement::committed],
        p99_of_step[Replacement::settled], before.failures, during.failures, all.lost(),
        all.disordered());
    std::fflush(stdout);
    if (!during.why.empty()) std::fprintf(stderr, "%s\n", during.why.c_str());
    good = good && during.failures <= before.failures && all.lost() == 0 && all.disordered() == 0;
  }
  return good;
}

}  // namespace quorumlock::bench
