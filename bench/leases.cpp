// Measures the cost of holding and renewing many leases:
//   quorumlock_leases [--leases=N] [--seconds=S] [--ttl=S] [--unix] [--real-time] [--replace]
//   quorumlock_leases --machine=S
// It runs five servers of its own and one Coordinator with default options, attached to a loop in
// this thread, and prints one JSON object on stdout. With --real-time (SCHED_FIFO, only as root) no
// server leaves its processor during a call, so that the time of a call does not include waiting
// for a processor on a machine with fewer cores than servers. With --replace one of the five is
// meanwhile replaced by a sixth server, and the run does not end before that is done.
//
// --machine measures the machine's own share, without servers. On each processor a loop of that
// priority only reads the clock for S seconds, and the stops that are longer than a call should
// take are counted.

#include <quorumlock/quorumlock.hpp>

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "nodes.hpp"
#include "replacement.hpp"

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

struct Arguments {
  long leases = 100'000;
  long seconds = 60;
  long ttl = 60;
  bool unix_sockets = false;
  long machine = 0;
  bool real_time = false;
  bool replace = false;
};

/// A longer call counts as one that "blocked" its server; in microseconds.
constexpr int long_call = 2000;

/// The servers and their own statistics.
class Servers {
 public:
  explicit Servers(const Arguments& arguments)
      : nodes_({.spares = arguments.replace ? 1 : 0,
                .unix_sockets = arguments.unix_sockets,
                .max_ttl = std::chrono::seconds(arguments.ttl),
                .more = {"--slowlog-log-slower-than", std::to_string(long_call),
                         "--slowlog-max-len", "100000"}}) {
    options_ = nodes_.options();
    options_.ttl = *options_.max_ttl;
    for (int node = 0; arguments.real_time && node < nodes_.count(); ++node) {
      const sched_param priority{.sched_priority = 1};
      if (sched_setscheduler(nodes_.pid(node), SCHED_FIFO, &priority) != 0) {
        throw std::system_error(errno, std::generic_category(),
                                "--real-time: cannot give the servers real-time priority");
      }
    }
  }

  [[nodiscard]] const Options& options() const { return options_; }
  /// A spare server takes the place of the last one: returns the options for the new list.
  const Options& swap_spare() {
    nodes_.swap_spare();
    options_.nodes = nodes_.urls();
    return options_;
  }
  [[nodiscard]] int count() const { return nodes_.count(); }
  void forget_calls() {
    for (int node = 0; node < count(); ++node) {
      nodes_.ask(node, {"SLOWLOG", "RESET"});
      nodes_.ask(node, {"CONFIG", "RESETSTAT"});
    }
  }
  /// Returns the user and system time of all servers, in seconds.
  [[nodiscard]] double cpu() const { return 1e-6 * nodes_.work().cpu_us; }
  [[nodiscard]] std::vector<std::int64_t> long_calls() const { return nodes_.slow_calls(); }
  [[nodiscard]] double calls() const {
    double all = 0;
    for (int node = 0; node < count(); ++node) {
      all += number_in(nodes_.ask(node, {"INFO", "commandstats"}), "cmdstat_evalsha:calls=");
    }
    return all;
  }
  /// Returns the slowest server's time in microseconds: `which` is p50, p99 or p99.9.
  [[nodiscard]] double call_us(const std::string& which) const {
    double most = 0;
    for (int node = 0; node < count(); ++node) {
      const std::string info = nodes_.ask(node, {"INFO", "latencystats"});
      const std::size_t at = info.find("latency_percentiles_usec_evalsha:");
      if (at != info.npos) most = std::max(most, number_in(info.substr(at), which + "="));
    }
    return most;
  }

 private:
  Nodes nodes_;
  Options options_;
};

double cpu_of_thread() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_bytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  long pages = 0;
  statm >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double seconds_since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

/// Takes `leases` locks, a few hundred at a time, and keeps them.
class Holder {
 public:
  Holder(uv_loop_t* loop, const Options& options, long leases)
      : loop_(loop), coordinator_(Coordinator::attach(loop, options).value()) {
    leases_.resize(static_cast<std::size_t>(leases));
  }
  ~Holder() {
    leases_.clear();
    coordinator_.close();
    uv_run(loop_, UV_RUN_DEFAULT);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void acquire_all() {
    constexpr std::size_t in_flight = 256;
    for (std::size_t i = 0; i < std::min(in_flight, leases_.size()); ++i) acquire_next();
    while (acquired_ + refused_ < leases_.size()) uv_run(loop_, UV_RUN_ONCE);
    if (refused_ > 0) throw std::runtime_error(why_);
  }
  void hold_for(std::chrono::seconds span) {
    uv_timer_t timer;
    uv_timer_init(loop_, &timer);
    bool over = false;
    timer.data = &over;
    uv_timer_start(
        &timer, [](uv_timer_t* one) { *static_cast<bool*>(one->data) = true; },
        static_cast<std::uint64_t>(std::chrono::milliseconds(span).count()), 0);
    while (!over) uv_run(loop_, UV_RUN_ONCE);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
    uv_run(loop_, UV_RUN_NOWAIT);
  }
  [[nodiscard]] long valid() const {
    return std::count_if(leases_.begin(), leases_.end(),
                         [](const Lease& lease) { return lease.is_valid(); });
  }
  /// Moves to the nodes of these options while an operator changes the nodes' list. Returns how
  /// long that took, in seconds.
  double replace(const Options& to) {
    coordinator_.set_nodes(to.nodes).value();
    const Replacement replacement(to);
    while (!replacement.over()) hold_for(1s);
    if (!replacement.trouble().empty()) throw std::runtime_error(replacement.trouble());
    return replacement.seconds();
  }
  [[nodiscard]] Stats stats() const { return coordinator_.stats(); }

 private:
  void acquire_next() {
    if (asked_ == leases_.size()) return;
    const std::size_t number = asked_++;
    char name[40];  // the name has 32 characters
    std::snprintf(name, sizeof name, "leases/of/the/benchmark/%08zu", number);
    // On a busy machine the renewals of the first leases may keep a later one waiting.
    const LockOptions patiently{.wait = 10s};
    coordinator_.async_acquire(name, patiently, {}, [this, number](Result<Lease> lease) {
      if (lease) {
        leases_[number] = std::move(*lease);
        ++acquired_;
      } else {
        if (refused_++ == 0) why_ = lease.error().what();
      }
      acquire_next();
    });
  }

  uv_loop_t* loop_;
  Coordinator coordinator_;
  std::vector<Lease> leases_;
  std::size_t asked_ = 0, acquired_ = 0, refused_ = 0;
  std::string why_;
};

void run(const Arguments& arguments) {
  Servers servers(arguments);
  uv_loop_t loop;
  uv_loop_init(&loop);
  {
    // The first of two holders lets one-off allocations happen before the second is measured.
    Holder(&loop, servers.options(), 1000).acquire_all();
    const double resident = resident_bytes();
    Holder holder(&loop, servers.options(), arguments.leases);
    auto begun = SteadyClock::now();
    holder.acquire_all();
    const double acquiring = seconds_since(begun);
    // Waits until the first renewals are over before anything is counted.
    holder.hold_for(std::chrono::seconds(arguments.ttl / 3 + 1));

    servers.forget_calls();
    const double server_cpu = servers.cpu();
    const double client_cpu = cpu_of_thread();
    const std::uint64_t renewals = holder.stats().renewals;
    begun = SteadyClock::now();
    const double replacing = arguments.replace ? holder.replace(servers.swap_spare()) : 0;
    const long left = arguments.seconds - static_cast<long>(replacing);
    if (left > 0) holder.hold_for(std::chrono::seconds(left));
    const double span = seconds_since(begun);
    const double clients = cpu_of_thread() - client_cpu;
    const auto renewed = static_cast<double>(holder.stats().renewals - renewals);
    const double calls = servers.calls();
    const std::vector<std::int64_t> long_calls = servers.long_calls();
    const auto longest = std::ranges::max_element(long_calls);
    const auto leases = static_cast<double>(arguments.leases);
    std::printf(
        "{\"leases\": %ld, \"ttl_s\": %ld, \"seconds\": %.1f, \"acquired_per_s\": %.0f, "
        "\"valid\": %ld, \"lost\": %llu, \"bytes_per_lease\": %.0f, \"renewals_per_s\": %.0f, "
        "\"client_cores\": %.3f, \"client_us_per_renewal\": %.3f, \"server_cores\": %.3f, "
        "\"server_us_per_renewal\": %.2f, \"renewals_per_call\": %.1f, \"call_p50_us\": %.0f, "
        "\"call_p99_us\": %.0f, \"call_p99.9_us\": %.0f, \"calls_over_2_ms\": %zu, "
        "\"longest_of_them_us\": %lld, \"calls\": %.0f, \"real_time\": %s, \"replaced_in_s\": "
        "%.1f}\n",
        arguments.leases, arguments.ttl, span, leases / acquiring, holder.valid(),
        static_cast<unsigned long long>(holder.stats().lost),
        (resident_bytes() - resident) / leases, renewed / span, clients / span,
        1e6 * clients / renewed, (servers.cpu() - server_cpu) / span,
        1e6 * (servers.cpu() - server_cpu) / renewed, servers.count() * renewed / calls,
        servers.call_us("p50"), servers.call_us("p99"), servers.call_us("p99.9"), long_calls.size(),
        longest == long_calls.end() ? 0LL : static_cast<long long>(*longest), calls,
        arguments.real_time ? "true" : "false", replacing);
    std::fflush(stdout);
    const auto gone = std::max<std::uint64_t>(
        holder.stats().lost, static_cast<std::uint64_t>(arguments.leases - holder.valid()));
    if (gone > 0) {
      throw std::runtime_error(std::to_string(gone) + " of " + std::to_string(arguments.leases) +
                               " leases were lost: the figures are those of a client or of nodes "
                               "that did not keep up");
    }
  }
  uv_loop_close(&loop);
}

/// The interruptions of this thread while it only read the clock.
struct Stops {
  double seconds = 0;  ///< how long the thread ran
  long many = 0;       ///< stops longer than long_call
  double longest_us = 0;
};

/// Runs on this processor for nine tenths of each second: the kernel stops a thread of such a
/// priority that takes all of the time.
Stops watch_processor(int processor, std::chrono::seconds span) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(processor), &only);
  const sched_param priority{.sched_priority = 1};
  if (const int error = pthread_setaffinity_np(pthread_self(), sizeof only, &only); error != 0) {
    throw std::system_error(error, std::generic_category(), "--machine: cannot choose a processor");
  }
  if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) {
    throw std::runtime_error("--machine: cannot have real-time priority: root can");
  }
  Stops stops;
  const auto end = SteadyClock::now() + span;
  for (auto begun = SteadyClock::now(); begun < end; begun = SteadyClock::now()) {
    auto last = begun;
    while (last < begun + 900ms) {
      const auto now = SteadyClock::now();
      const double us = std::chrono::duration<double, std::micro>(now - last).count();
      if (us > long_call) ++stops.many;
      stops.longest_us = std::max(stops.longest_us, us);
      last = now;
    }
    stops.seconds += std::chrono::duration<double>(last - begun).count();
    std::this_thread::sleep_for(100ms);
  }
  return stops;
}

void watch_machine(std::chrono::seconds span) {
  std::vector<std::future<Stops>> watches;
  for (unsigned processor = 0; processor < std::thread::hardware_concurrency(); ++processor) {
    watches.push_back(
        std::async(std::launch::async, watch_processor, static_cast<int>(processor), span));
  }
  Stops all;
  for (std::future<Stops>& watch : watches) {
    const Stops stops = watch.get();
    all.seconds += stops.seconds;
    all.many += stops.many;
    all.longest_us = std::max(all.longest_us, stops.longest_us);
  }
  std::printf(
      "{\"machine_core_s\": %.0f, \"machine_stops_over_2_ms\": %ld, "
      "\"machine_longest_stop_us\": %.0f}\n",
      all.seconds, all.many, all.longest_us);
}

bool parse(std::string_view argument, Arguments& arguments) {
  if (argument == "--unix") return arguments.unix_sockets = true;
  if (argument == "--real-time") return arguments.real_time = true;
  if (argument == "--replace") return arguments.replace = true;
  const std::size_t equals = argument.find('=');
  if (equals == argument.npos) return false;
  const std::string_view name = argument.substr(0, equals);
  const std::string_view text = argument.substr(equals + 1);
  long* const number = name == "--leases"    ? &arguments.leases
                       : name == "--seconds" ? &arguments.seconds
                       : name == "--ttl"     ? &arguments.ttl
                       : name == "--machine" ? &arguments.machine
                                             : nullptr;
  if (number == nullptr) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number > 0;
}

}  // namespace
}  // namespace quorumlock::bench

int main(int argc, char** argv) {
  quorumlock::bench::Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (quorumlock::bench::parse(argv[i], arguments)) continue;
    std::fprintf(stderr,
                 "quorumlock_leases: cannot use \"%s\"\n"
                 "usage: quorumlock_leases [--leases=N] [--seconds=S] [--ttl=S] [--unix] "
                 "[--real-time] [--replace]\n       quorumlock_leases --machine=S\n",
                 argv[i]);
    return 64;
  }
  try {
    if (arguments.machine > 0) {
      quorumlock::bench::watch_machine(std::chrono::seconds(arguments.machine));
    } else {
      quorumlock::bench::run(arguments);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quorumlock_leases: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
