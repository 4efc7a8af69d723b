#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <random>
#include <utility>

#include <quorumlock/admin.hpp>

#include "bench_load.hpp"
#include "commands.hpp"
#include "globals.hpp"
#include "local/percentile.hpp"
#include "lock.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace quorumlock::cli {
namespace {

using local::percentile_us;

struct BenchArguments {
  double seconds = 5;
  int in_flight = 16;
  std::optional<int> keys;
  bool shared_key = false;
};

/// Returns resource names that no other client has or ever had.
std::vector<std::string> resources(int count) {
  std::random_device random;
  char prefix[40];
  std::snprintf(prefix, sizeof prefix, "quorumlock-bench-%08x%08x", random(), random());
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(std::string(prefix) + "/" + std::to_string(i));
  return names;
}

/// Returns a short ttl, so that no lock stays for long even if this program is killed.
std::chrono::nanoseconds ttl_for(const Options& options) {
  const std::chrono::nanoseconds most = std::chrono::seconds(5);
  return std::min(most, options.max_ttl.value_or(most));
}

Json latencies(const std::vector<std::uint32_t>& samples) {
  return {{"p50", percentile_us(samples, 0.5)},
          {"p99", percentile_us(samples, 0.99)},
          {"p99_9", percentile_us(samples, 0.999)},
          {"max", percentile_us(samples, 1)}};
}

Json figures_json(const BenchLoad& load, const Stats& stats, const Options& options, int in_flight,
                  std::size_t keys) {
  const Stats::WonAfter& won = stats.won_after;
  const double seconds = load.seconds();
  const double rate = seconds > 0 ? static_cast<double>(load.cycles()) / seconds : 0;
  std::size_t nodes = options.nodes.size();
  for (const auto& [name, urls] : options.groups) nodes += urls.size();
  return {
      {"nodes", nodes},
      {"groups", options.groups.empty() ? 1 : options.groups.size()},
      {"loops", options.loops},
      {"fencing", options.fencing},
      {"in_flight", in_flight},
      {"keys", keys},
      {"seconds", seconds},
      {"cycles", load.cycles()},
      {"cycles_per_s", rate},
      {"acquire_us", latencies(load.acquire_ns())},
      {"release_us", latencies(load.release_ns())},
      {"won_after", {{"hand_over", won.hand_over}, {"message", won.message}, {"look", won.look}}},
      {"near_misses",
       {{"bare_quorum", stats.near_misses.bare_quorum},
        {"acquired_late", stats.near_misses.acquired_late}}}};
}

std::string line_of(const char* what, const Json& us) {
  char line[128];
  std::snprintf(line, sizeof line, "\n%-8s %9.3f ms %9.3f ms %9.3f ms %9.3f ms", what,
                us.at("p50").get<double>() / 1e3, us.at("p99").get<double>() / 1e3,
                us.at("p99_9").get<double>() / 1e3, us.at("max").get<double>() / 1e3);
  return line;
}

std::string figures_text(const Json& seen) {
  char head[256];
  std::snprintf(head, sizeof head,
                "%.0f locks per second, acquired and released: %" PRId64
                " in %.2f s, %d in flight on %d key%s, %d nodes",
                seen.at("cycles_per_s").get<double>(), seen.at("cycles").get<std::int64_t>(),
                seen.at("seconds").get<double>(), seen.at("in_flight").get<int>(),
                seen.at("keys").get<int>(), seen.at("keys") == 1 ? "" : "s",
                seen.at("nodes").get<int>());
  std::string all =
      std::string(head) + "\n               p50          p99        p99.9      longest" +
      line_of("acquire", seen.at("acquire_us")) + line_of("release", seen.at("release_us"));
  const Json& won = seen.at("won_after");
  const auto count = [&](const char* why) { return won.at(why).get<std::int64_t>(); };
  const std::int64_t waited = count("hand_over") + count("message") + count("look");
  if (waited == 0) return all;
  return all + "\nwaits: " + std::to_string(waited) + " won, " +
         std::to_string(count("hand_over")) + " by hand-over, " + std::to_string(count("message")) +
         " after a message, " + std::to_string(count("look")) + " after a look";
}

/// Removes the benchmark's counters and closes the coordinator, however the benchmark ends.
struct CleanUp {
  Coordinator& coordinator;
  std::vector<std::string> keys;  ///< those that were locked
  CleanUp(Coordinator& of, std::vector<std::string> used)
      : coordinator(of), keys(std::move(used)) {}
  CleanUp(const CleanUp&) = delete;
  CleanUp& operator=(const CleanUp&) = delete;
  ~CleanUp() {
    if (const Result<void> forgotten = forget_counters(coordinator, keys); !forgotten) {
      Globals::warn(forgotten.error().what());
    }
    coordinator.close();
  }
};

int bench(const Globals& globals, const BenchArguments& asked) {
  const Options options = globals.options();
  Signals signals;
  Coordinator coordinator = coordinator_with(options);
  const std::vector<std::string> keys =
      resources(asked.shared_key ? 1 : asked.keys.value_or(asked.in_flight));
  // The clean-up comes first at the end, since the load is under way until it closes.
  BenchLoad load(coordinator, keys, asked.in_flight, ttl_for(options));
  std::optional<CleanUp> clean_up(std::in_place, coordinator, std::vector{keys.front()});
  // The first lock waits until the nodes are connected.
  (void)take_lock(coordinator, {keys.front()}, {.ttl = ttl_for(options)}, signals).release();
  load.start();

  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(asked.seconds));
  int interrupted = 0;
  pollfd ready[] = {{signals.fd(), POLLIN, 0}, {load.done(), POLLIN, 0}};
  while ((ready[1].revents & POLLIN) == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const bool over = left.count() <= 0;
    if (over) load.stop();
    await_ready(ready, over || interrupted != 0 ? -1 : static_cast<int>(left.count()));
    if (interrupted == 0) interrupted = signals.asked_to_end();
    if (interrupted != 0) load.stop();
  }

  const Stats stats = coordinator.stats();
  clean_up->keys = load.used();
  clean_up.reset();
  if (load.refused()) throw Failure(*load.refused());
  if (interrupted != 0) {
    throw Failure::interrupted(interrupted, "while measuring: nothing is left on the nodes");
  }
  const Json seen = figures_json(load, stats, options, asked.in_flight, keys.size());
  if (globals.json) {
    print(seen);
  } else {
    print(figures_text(seen));
  }
  return ExitCode::done;
}

}  // namespace

void add_bench(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<BenchArguments>();
  CLI::App& command = *app.add_subcommand(
      "bench", "measure how many locks a second the nodes give, and how long each takes");
  command.footer(
      "Locks resources of its own, whose names nobody else has, and leaves nothing on the nodes. "
      "It\n"
      "is a load like any other: others that use the same nodes feel it.");
  command.add_option("--seconds", asked->seconds, "how long; 5 if it is not given")
      ->check(CLI::Range(0.01, 600.0))
      ->type_name("N");
  command.add_option("--in-flight", asked->in_flight, "how many at a time; 16 if it is not given")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  auto* keys =
      command
          .add_option_function<int>(
              "--keys", [asked](int count) { asked->keys = count; },
              "how many resources; if they are fewer than the locks in flight, locks are waited "
              "for in order; by default as many as are in flight")
          ->check(CLI::Range(1, 100000))
          ->type_name("N");
  command.add_flag("--shared-key", asked->shared_key, "one resource, that all wait for")
      ->excludes(keys);
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return bench(globals, *asked); }; });
}

}  // namespace quorumlock::cli
