// The simulator: quorumlock's own state machines among simulated nodes, networks and clocks.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/world/mutants.hpp"
#include "sim/world/shrink.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {
namespace {

constexpr std::string_view usage =
    "usage: simulate [--seeds N] [--from SEED] [--jobs N] [--mutant NAME]\n"
    "       simulate --seed SEED [--trace] [--mutant NAME]   one history, as often as you like\n"
    "       simulate --draw 'seed=...' [--trace] [--mutant NAME]   likewise, of all that was "
    "printed\n"
    "       simulate --mutants                               plant every known mistake, see it "
    "caught\n"
    "       simulate --seconds N [--from SEED] [--jobs N]    for so long\n"
    "each with --focus NAME: draws of one kind (docs/simulator.md);\n"
    "with --in-order N: it fails where fewer locks are won in the line's turn\n";

struct Asked {
  std::uint64_t from = 1;
  std::uint64_t seeds = 10'000;
  std::optional<std::uint64_t> seed;
  std::optional<Draw> draw;
  std::optional<Focus> focus;
  std::optional<double> seconds;
  std::uint64_t in_order = 0;
  int jobs = 2;
  bool trace = false;
  bool mutants = false;
  const KnownMutant* mutant = nullptr;
};

const KnownMutant* mutant_named(std::string_view name) {
  for (const KnownMutant& one : known_mutants()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::optional<Focus> focus_named(std::string_view name) {
  for (int i = 0; i < focuses; ++i) {
    if (to_string(static_cast<Focus>(i)) == name) return static_cast<Focus>(i);
  }
  return std::nullopt;
}

std::string outcome_of(const Draw& draw) {
  try {
    return World(draw, nullptr).run();
  } catch (const std::exception& error) {
    return std::string("the simulation itself failed: ") + error.what();
  }
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Sums over the seeds of one process.
struct Sums {
  std::uint64_t seeds = 0, failed = 0;
  World::Figures figures;
};

/// The least seed that has failed in any of the processes: none need look beyond it.
std::atomic<std::uint64_t>* failed_somewhere() {
  static void* const shared = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>),
                                     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("cannot share memory");
  return static_cast<std::atomic<std::uint64_t>*>(shared);
}

/// Every `jobs`-th seed from `first` on; stops at the first that fails.
Sums run_seeds(const Asked& asked, std::uint64_t first, std::uint64_t end) {
  Sums sums;
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < end; seed += static_cast<std::uint64_t>(asked.jobs)) {
    if (seed > failed_somewhere()->load()) break;
    if (asked.seconds && seconds_since(begun) > *asked.seconds) break;
    ++sums.seeds;
    const Draw draw = Draw::of(seed, asked.focus);
    World world(draw, nullptr);
    std::string wrong;
    try {
      wrong = world.run();
    } catch (const std::exception& error) {
      wrong = std::string("the simulation itself failed: ") + error.what();
    }
    const World::Figures& more = world.figures();
    sums.figures.acquired += more.acquired;
    sums.figures.refused += more.refused;
    sums.figures.renewed += more.renewed;
    sums.figures.ended += more.ended;
    sums.figures.faults += more.faults;
    sums.figures.commands += more.commands;
    sums.figures.in_order += more.in_order;
    if (!wrong.empty()) {
      sums.failed = seed;
      std::uint64_t least = failed_somewhere()->load();
      while (seed < least && !failed_somewhere()->compare_exchange_weak(least, seed)) {
      }
      break;
    }
  }
  return sums;
}

/// The seeds, dealt to processes.
Sums run_jobs(const Asked& asked) {
  struct Job {
    pid_t pid;
    int from;
  };
  std::vector<Job> jobs;
  new (failed_somewhere()) std::atomic<std::uint64_t>(~std::uint64_t{0});
  const std::uint64_t end = asked.seconds ? ~0ULL >> 1 : asked.from + asked.seeds;
  for (int i = 0; i < asked.jobs; ++i) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("cannot fork");
    if (pid == 0) {
      const Sums sums = run_seeds(asked, asked.from + static_cast<std::uint64_t>(i), end);
      ::_exit(::write(ends[1], &sums, sizeof sums) == sizeof sums ? 0 : 1);
    }
    ::close(ends[1]);
    jobs.push_back({pid, ends[0]});
  }
  Sums all;
  bool complete = true;
  for (const Job& job : jobs) {
    Sums sums;
    complete = ::read(job.from, &sums, sizeof sums) == sizeof sums && complete;
    ::close(job.from);
    int status = 0;
    ::waitpid(job.pid, &status, 0);
    all.seeds += sums.seeds;
    if (sums.failed != 0 && (all.failed == 0 || sums.failed < all.failed)) all.failed = sums.failed;
    all.figures.acquired += sums.figures.acquired;
    all.figures.refused += sums.figures.refused;
    all.figures.renewed += sums.figures.renewed;
    all.figures.ended += sums.figures.ended;
    all.figures.faults += sums.figures.faults;
    all.figures.commands += sums.figures.commands;
    all.figures.in_order += sums.figures.in_order;
  }
  if (!complete) throw std::runtime_error("a process of the simulation has died");
  return all;
}

void explain(const Asked& asked, std::uint64_t seed) {
  const Draw draw = Draw::of(seed, asked.focus);
  std::cout << "seed " << seed << " FAILED: " << outcome_of(draw) << "\n  " << draw.to_string()
            << '\n';
  const Draw small = shrink(draw, [](const Draw& one) { return !outcome_of(one).empty(); });
  std::cout << "fails still with no more than:\n  " << small.to_string() << "\n  "
            << outcome_of(small) << "\nto see it: simulate --draw '" << small.to_string()
            << "' --trace"
            << (asked.mutant != nullptr ? " --mutant " + std::string(asked.mutant->name) : "")
            << '\n';
}

int run_one(const Asked& asked) {
  const Draw whole = asked.draw ? *asked.draw : Draw::of(*asked.seed, asked.focus);
  std::cout << whole.to_string() << '\n';
  std::string wrong = outcome_of(whole);
  Draw shown = whole;
  if (!wrong.empty() && !asked.draw) {
    shown = shrink(whole, [](const Draw& one) { return !outcome_of(one).empty(); });
    std::cout << "made smaller: " << shown.to_string() << '\n';
  }
  if (asked.trace) wrong = World(shown, &std::cout).run();
  std::cout << (wrong.empty() ? "all held" : "FAILED: " + wrong) << '\n';
  return wrong.empty() ? 0 : 1;
}

int run_many(const Asked& asked) {
  const auto begun = std::chrono::steady_clock::now();
  const Sums sums = run_jobs(asked);
  const World::Figures& all = sums.figures;
  std::cout << sums.seeds << " seeds from " << asked.from << " in " << seconds_since(begun)
            << " s: " << all.acquired << " locks acquired, " << all.refused << " refused, "
            << all.renewed << " renewals, " << all.ended << " leases lost, " << all.faults
            << " faults, " << all.commands << " commands executed; " << all.in_order
            << " locks won before others that waited, each in its turn\n";
  if (sums.failed == 0) {
    std::cout << "no promise was broken\n";
    if (all.in_order >= asked.in_order) return 0;
    std::cout << "too few were won in the line's turn: " << asked.in_order << " were asked for\n";
    return 1;
  }
  explain(asked, sums.failed);
  return 1;
}

int run_mutants(Asked asked) {
  int survivors = 0;
  int demanded = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (const KnownMutant& one : known_mutants()) {
    if (one.seeds == 0) {
      std::cout << "not yet   " << one.name << ": " << one.what << std::endl;
      continue;
    }
    ++demanded;
    core::planted_mutant = one.mutant;
    asked.focus = one.focus;
    asked.seeds = static_cast<std::uint64_t>(one.seeds);
    const Sums sums = run_jobs(asked);
    std::cout << (sums.failed != 0 ? "caught    " : "SURVIVED  ") << one.name << ": " << one.what;
    if (sums.failed != 0) {
      std::cout << "; seed " << sums.failed << " of at most " << one.seeds << ": "
                << outcome_of(Draw::of(sums.failed, asked.focus));
    } else {
      ++survivors;
    }
    std::cout << std::endl;
  }
  core::planted_mutant = core::Mutant::none;
  std::cout << demanded << " mistakes planted, " << survivors << " not caught, in "
            << seconds_since(begun) << " s\n";
  return survivors == 0 ? 0 : 1;
}

std::optional<Asked> parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--seeds") {
      asked.seeds = std::stoull(value());
    } else if (flag == "--from") {
      asked.from = std::stoull(value());
    } else if (flag == "--seed") {
      asked.seed = std::stoull(value());
    } else if (flag == "--draw") {
      asked.draw = Draw::parse(value());
      if (!asked.draw) return std::nullopt;
    } else if (flag == "--focus") {
      asked.focus = focus_named(value());
      if (!asked.focus) return std::nullopt;
    } else if (flag == "--seconds") {
      asked.seconds = std::stod(value());
    } else if (flag == "--in-order") {
      asked.in_order = std::stoull(value());
    } else if (flag == "--jobs") {
      asked.jobs = std::stoi(value());
    } else if (flag == "--trace") {
      asked.trace = true;
    } else if (flag == "--mutants") {
      asked.mutants = true;
    } else if (flag == "--mutant") {
      asked.mutant = mutant_named(value());
      if (asked.mutant == nullptr) return std::nullopt;
      if (!asked.focus) asked.focus = asked.mutant->focus;
    } else {
      return std::nullopt;
    }
  }
  return asked;
}

}  // namespace
}  // namespace quorumlock::sim

int main(int argc, char** argv) {
  using namespace quorumlock;
  std::optional<sim::Asked> asked;
  try {
    asked = sim::parse(argc, argv);
  } catch (const std::exception&) {
  }
  if (!asked || asked->jobs < 1) {
    std::cerr << sim::usage << "the focuses:";
    for (int i = 0; i < sim::focuses; ++i) {
      std::cerr << ' ' << sim::to_string(static_cast<sim::Focus>(i));
    }
    std::cerr << "\nthe known mistakes:";
    for (const sim::KnownMutant& one : sim::known_mutants()) std::cerr << ' ' << one.name;
    std::cerr << '\n';
    return 64;
  }
  if (asked->mutant != nullptr) core::planted_mutant = asked->mutant->mutant;
  if (asked->mutants) return sim::run_mutants(*asked);
  return asked->seed || asked->draw ? sim::run_one(*asked) : sim::run_many(*asked);
}
