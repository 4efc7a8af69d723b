// quorumlock_bench measures the cost of a lock next to its least possible cost; see
// bench/README.md.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "allocations.hpp"
#include "arrivals.hpp"
#include "faults.hpp"
#include "hand_over.hpp"
#include "modes.hpp"
#include "openssl.hpp"
#include "replace.hpp"
#include "turns.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

struct Arguments {
  bool smoke = false;
  NodesSettings nodes;
  int rounds = 0;
  std::string fault;
  int pairs = 15;
  int hand_over = 0;
  std::vector<std::pair<int, int>> crowds;
  int start_up = 0;
  int storm = 0;
  int replace = 0;
  int clients = 0;
  int max_ttl = 30;
  std::int64_t memory = 0;
  std::vector<std::string> contenders = usual_contenders();
  std::vector<Load> loads;
  std::vector<std::string> turns_on;
};

constexpr const char* usage =
    "usage: quorumlock_bench [--contenders=NAME[@NODES[xGROUPS]][+durable][+unix|+tls|+far],...]\n"
    "                        [--in-flight=N[:CYCLES],...] [--nodes=N] [--unix] [--durable] [MODE]\n"
    "modes: --smoke           each contender works and leaves no key; seconds\n"
    "       --turns-on=NODES  waiters as bench/peers asks for them on stdin, on these nodes\n"
    "       --rounds=N        one line of JSON for each contender, load and round\n"
    "       --fault=NAME      acquire with all nodes and with one slow, stopped, dead or "
    "flapping,\n"
    "                         --pairs=N times\n"
    "       --memory=CYCLES   resident memory before, on the way and after\n"
    "       --hand-over=N     one lock that 2, 8, 64 and 512 wait for, N rounds\n"
    "       --crowd=N[:NAMES],...  N waiters of as many locks as NAMES says (1), --rounds=N\n"
    "       --start-up=N      from nothing to the first lock, N rounds\n"
    "       --storm=N         a node returns, and --clients=N with it, N rounds\n"
    "       --replace=N       one node of five is replaced while --clients=N lock, N rounds;\n"
    "                         a change takes twice --max-ttl=SECONDS (30) or longer\n"
    "       otherwise Google Benchmark, with its own --benchmark_... flags\n";

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Load load_of(const std::string& text) {
  Load load;
  load.in_flight = std::stoi(text);
  const std::size_t colon = text.find(':');
  load.cycles =
      colon == text.npos ? usual_cycles(load.in_flight) : std::stoll(text.substr(colon + 1));
  if (load.in_flight < 1 || load.cycles < 1) throw std::invalid_argument(text);
  return load;
}

/// Returns how many waiters there are, and how many locks.
std::pair<int, int> crowd_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::pair<int, int> crowd{std::stoi(text),
                                  colon == text.npos ? 1 : std::stoi(text.substr(colon + 1))};
  if (crowd.first < 1 || crowd.second < 1) throw std::invalid_argument(text);
  return crowd;
}

/// Returns nothing if a flag is unknown.
std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  std::string in_flight = "1,16,64,256";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == word.npos ? "" : word.substr(equals + 1);
    if (word == "--smoke") {
      arguments.smoke = true;
      arguments.contenders = contender_names();
    } else if (word == "--unix") {
      arguments.nodes.unix_sockets = true;
    } else if (word == "--durable") {
      arguments.nodes.durable = true;
    } else if (name == "--nodes") {
      arguments.nodes.count = std::stoi(value);
    } else if (name == "--turns-on") {
      arguments.turns_on = split(value);
    } else if (name == "--rounds") {
      arguments.rounds = std::stoi(value);
    } else if (name == "--fault") {
      arguments.fault = value;
      arguments.nodes.proxied = 1;
    } else if (name == "--pairs") {
      arguments.pairs = std::stoi(value);
    } else if (name == "--start-up") {
      arguments.start_up = std::stoi(value);
    } else if (name == "--storm") {
      arguments.storm = std::stoi(value);
    } else if (name == "--replace") {
      arguments.replace = std::stoi(value);
    } else if (name == "--max-ttl") {
      arguments.max_ttl = std::stoi(value);
    } else if (name == "--clients") {
      arguments.clients = std::stoi(value);
    } else if (name == "--hand-over") {
      arguments.hand_over = std::stoi(value);
    } else if (name == "--crowd") {
      for (const std::string& crowd : split(value)) arguments.crowds.push_back(crowd_of(crowd));
    } else if (name == "--memory") {
      arguments.memory = std::stoll(value);
    } else if (name == "--contenders") {
      arguments.contenders = split(value);
    } else if (name == "--in-flight") {
      in_flight = value;
    } else {
      return std::nullopt;
    }
  }
  for (const std::string& load : split(in_flight)) arguments.loads.push_back(load_of(load));
  return arguments;
}

/// One iteration is one cycle; cycles run in batches so that the loads stay constant.
void measure(benchmark::State& state, Contender& contender, int in_flight) {
  const std::int64_t batch = usual_cycles(in_flight) / 10;
  Measurement all;
  while (state.KeepRunningBatch(batch)) {
    all.add(run_cycles(contender, in_flight, batch));
  }
  state.counters["cycles/s"] = all.rate();
  state.counters["cpu_us"] = all.cpu_us();
  state.counters["acquire_p50_us"] = percentile_us(all.acquire_ns, 0.5);
  state.counters["acquire_p99_us"] = percentile_us(all.acquire_ns, 0.99);
  state.counters["release_p50_us"] = percentile_us(all.release_ns, 0.5);
  state.counters["release_p99_us"] = percentile_us(all.release_ns, 0.99);
  if (allocations_counted()) {
    state.counters["allocations"] =
        static_cast<double>(all.allocations) / static_cast<double>(all.cycles);
  }
}

void run_benchmarks(Field& field, const std::vector<Load>& loads) {
  for (const Load& load : loads) {
    for (const Member& member : field.members) {
      const std::string name = member.name + "/in_flight:" + std::to_string(load.in_flight);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&member, load](benchmark::State& state) {
                                     measure(state, *member.contender, load.in_flight);
                                   })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
}

int run(const Arguments& arguments) {
  if (!arguments.turns_on.empty()) {
    const bool plain = arguments.contenders == std::vector<std::string>{"quorumlock"};
    play_turns(arguments.turns_on, !plain);
    return EXIT_SUCCESS;
  }
  if (arguments.hand_over > 0) {
    print_hand_overs(Nodes(arguments.nodes), arguments.hand_over);
    return EXIT_SUCCESS;
  }
  if (!arguments.crowds.empty()) {
    print_crowds(Nodes(arguments.nodes), std::max(arguments.rounds, 1), arguments.crowds);
    return EXIT_SUCCESS;
  }
  if (arguments.start_up > 0) {
    print_start_up(Nodes(arguments.nodes), arguments.start_up);
    return EXIT_SUCCESS;
  }
  if (arguments.storm > 0) {
    print_storm(arguments.clients > 0 ? arguments.clients : 1000, arguments.storm);
    return EXIT_SUCCESS;
  }
  if (arguments.replace > 0) {
    const int clients = arguments.clients > 0 ? arguments.clients : 64;
    return print_replacements(clients, arguments.replace, std::chrono::seconds(arguments.max_ttl))
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
  }
  Field field(arguments.nodes, arguments.contenders);
  if (arguments.smoke) return smoke(field) ? EXIT_SUCCESS : EXIT_FAILURE;
  if (arguments.rounds > 0) {
    print_rounds(field, arguments.loads, arguments.rounds);
  } else if (!arguments.fault.empty()) {
    print_faults(field, arguments.fault, arguments.pairs);
  } else if (arguments.memory > 0) {
    print_memory(field, arguments.memory);
  } else {
    run_benchmarks(field, arguments.loads);
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace quorumlock::bench

int main(int argc, char** argv) {
  quorumlock::bench::leave_out_openssl();
  benchmark::Initialize(&argc, argv);  // removes its own flags
  try {
    const auto arguments = quorumlock::bench::parse(argc, argv);
    if (arguments) return quorumlock::bench::run(*arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "quorumlock_bench: not a number: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quorumlock_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
  std::fputs(quorumlock::bench::usage, stderr);
  return 64;
}
