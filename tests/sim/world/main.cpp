// The simulator: quorumlock's own state machines among simulated nodes, networks and clocks.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "overseer/overseer.hpp"
#include "sim/world/digest.hpp"
#include "sim/world/mutants.hpp"
#include "sim/world/rules.hpp"
#include "sim/world/shrink.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {
namespace {

constexpr std::string_view usage =
    "usage: simulate [--seeds N] [--from SEED] [--jobs N] [--mutant NAME]\n"
    "       simulate --seed SEED [--trace] [--mutant NAME]   one history, as often as you like\n"
    "       simulate --draw 'seed=...' [--trace] [--mutant NAME]   the same, from what was "
    "printed\n"
    "       simulate --mutants                               plant every known mistake, see it "
    "caught\n"
    "       simulate --rules proof/planted.txt               break each rule of the proofs\n"
    "       simulate --seconds N [--from SEED] [--jobs N]    for that long\n"
    "each with --focus NAME: draws of one kind (docs/simulator.md);\n"
    "with --in-order N: it fails if fewer locks are won in the line's turn;\n"
    "with --changes N: it fails if fewer operators stopped for good after each step of a change, "
    "or\n"
    "  if fewer removed nodes were taken back;\n"
    "with --digest: prints one number of all the traces, which is the same for the same traces\n";

struct Asked {
  std::uint64_t from = 1;
  std::uint64_t seeds = 10'000;
  std::optional<std::uint64_t> seed;
  std::optional<Draw> draw;
  std::optional<Focus> focus;
  std::optional<double> seconds;
  std::uint64_t in_order = 0;
  std::uint64_t changes = 0;
  int jobs = 2;
  bool trace = false;
  bool mutants = false;
  std::string rules;  ///< the file that says how each rule of the proofs is broken
  std::string rule;   ///< the only one of these that is broken; empty: all are
  bool digest = false;
  const KnownMutant* mutant = nullptr;
};

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
  int died_of = 0;           ///< the signal that ended the process of the failed seed
  std::uint64_t digest = 0;  ///< the sum of all seeds' digests, in any order
  Figures figures;
};

constexpr int most_jobs = 64;

/// The memory that the processes share.
struct Shared {
  std::atomic<std::uint64_t> next{0};  ///< the seed that a process takes next
  /// The least seed that has failed in any process: no process need look beyond it.
  std::atomic<std::uint64_t> failed{~std::uint64_t{0}};
  std::array<std::atomic<std::uint64_t>, most_jobs> at{};  ///< the current seed of each process
};
Shared& shared() {
  static void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("cannot share memory");
  return *static_cast<Shared*>(memory);
}

/// Runs seeds that no other process has taken; stops at the first that fails.
Sums run_seeds(const Asked& asked, int job, std::uint64_t end) {
  Sums sums;
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 0; (seed = shared().next++) < end;) {
    if (seed > shared().failed.load()) break;
    shared().at[static_cast<std::size_t>(job)] = seed;
    if (asked.seconds && seconds_since(begun) > *asked.seconds) break;
    ++sums.seeds;
    const Draw draw = Draw::of(seed, asked.focus);
    if (sought.by && !draw.has(*sought.by)) continue;
    Digest digest;
    World world(draw, asked.digest ? &digest : nullptr);
    std::string wrong;
    try {
      wrong = world.run();
    } catch (const std::exception& error) {
      wrong = std::string("the simulation itself failed: ") + error.what();
    }
    const Figures& more = world.scene.figures;
    digest << seed << ' ' << more.commands << ' ' << wrong;
    sums.digest += digest.number();
    sums.figures.acquired += more.acquired;
    sums.figures.refused += more.refused;
    sums.figures.renewed += more.renewed;
    sums.figures.ended += more.ended;
    sums.figures.faults += more.faults;
    sums.figures.commands += more.commands;
    sums.figures.in_order += more.in_order;
    sums.figures.by_token += more.by_token;
    sums.figures.lists_settled += more.lists_settled;
    sums.figures.lists_stranded += more.lists_stranded;
    for (std::size_t step = 0; step < step_kinds; ++step) {
      sums.figures.died_after[step] += more.died_after[step];
    }
    sums.figures.returned += more.returned;
    if (!wrong.empty()) {
      sums.failed = seed;
      std::uint64_t least = shared().failed.load();
      while (seed < least && !shared().failed.compare_exchange_weak(least, seed)) {
      }
      break;
    }
  }
  return sums;
}

/// Deals the seeds to processes.
Sums run_jobs(const Asked& asked) {
  struct Job {
    pid_t pid;
    int from;
  };
  std::vector<Job> jobs;
  new (&shared()) Shared;
  shared().next = asked.from;
  const std::uint64_t end = asked.seconds ? ~0ULL >> 1 : asked.from + asked.seeds;
  for (int i = 0; i < asked.jobs; ++i) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("cannot fork");
    if (pid == 0) {
      const Sums sums = run_seeds(asked, i, end);
      ::_exit(::write(ends[1], &sums, sizeof sums) == sizeof sums ? 0 : 1);
    }
    ::close(ends[1]);
    jobs.push_back({pid, ends[0]});
  }
  Sums all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Sums sums;
    const bool complete = ::read(jobs[i].from, &sums, sizeof sums) == sizeof sums;
    ::close(jobs[i].from);
    int status = 0;
    ::waitpid(jobs[i].pid, &status, 0);
    if (!complete) {
      sums.failed = shared().at[i];
      sums.died_of = WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT;
    }
    all.seeds += sums.seeds;
    all.digest += sums.digest;
    if (sums.failed != 0 && (all.failed == 0 || sums.failed < all.failed)) {
      all.failed = sums.failed;
      all.died_of = sums.died_of;
    }
    all.figures.acquired += sums.figures.acquired;
    all.figures.refused += sums.figures.refused;
    all.figures.renewed += sums.figures.renewed;
    all.figures.ended += sums.figures.ended;
    all.figures.faults += sums.figures.faults;
    all.figures.commands += sums.figures.commands;
    all.figures.in_order += sums.figures.in_order;
    all.figures.by_token += sums.figures.by_token;
    all.figures.lists_settled += sums.figures.lists_settled;
    all.figures.lists_stranded += sums.figures.lists_stranded;
    for (std::size_t step = 0; step < step_kinds; ++step) {
      all.figures.died_after[step] += sums.figures.died_after[step];
    }
    all.figures.returned += sums.figures.returned;
  }
  return all;
}

std::string died(int signal) {
  return "its process died of signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

std::string mutant_flag(const Asked& asked) {
  return asked.mutant == nullptr ? "" : " --mutant " + std::string(asked.mutant->name);
}

std::string flags_of(const Asked& asked) {
  const bool focused = asked.focus.has_value();
  return (focused ? " --focus " + std::string(to_string(*asked.focus)) : "") + mutant_flag(asked);
}

void explain(const Asked& asked, std::uint64_t seed) {
  const Draw draw = Draw::of(seed, asked.focus);
  std::cout << "seed " << seed << " FAILED: " << outcome_of(draw) << "\n  " << draw.to_string()
            << '\n';
  const Draw small = shrink(draw, [](const Draw& one) { return !outcome_of(one).empty(); });
  std::cout << "fails still with no more than:\n  " << small.to_string() << "\n  "
            << outcome_of(small) << "\nto see it: simulate --draw '" << small.to_string()
            << "' --trace" << mutant_flag(asked) << '\n';
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
  const Figures& all = sums.figures;
  std::cout << sums.seeds << " seeds from " << asked.from << " in " << seconds_since(begun)
            << " s: " << all.acquired << " locks acquired, " << all.refused << " refused, "
            << all.renewed << " renewals, " << all.ended << " leases lost, " << all.faults
            << " faults, " << all.commands << " commands executed, " << all.by_token
            << " extended by token, " << all.lists_settled << " new lists of nodes settled, "
            << all.died_after[0] << " operators stopped for good after an announcement, "
            << all.died_after[1] << " after a commit, " << all.died_after[2]
            << " while they settled, " << all.returned << " removed nodes taken back, "
            << all.lists_stranded << " changes that could not be ended; " << all.in_order
            << " locks won before others that waited, each in its turn\n";
  if (asked.digest) std::cout << "digest " << std::hex << sums.digest << std::dec << '\n';
  if (sums.failed == 0) {
    std::cout << "no promise was broken\n";
    const std::size_t changes = std::min(std::ranges::min(all.died_after), all.returned);
    if (all.in_order < asked.in_order) {
      std::cout << "too few were won in the line's turn: " << asked.in_order << " were asked for\n";
    } else if (changes < asked.changes) {
      std::cout << "too few operators stopped after some step, or too few removed nodes came back: "
                << asked.changes << " were asked for\n";
    } else {
      return 0;
    }
    return 1;
  }
  if (sums.died_of != 0) {
    std::cout << "seed " << sums.failed << " FAILED: " << died(sums.died_of)
              << "\nto see it: simulate --seed " << sums.failed << " --trace" << flags_of(asked)
              << '\n';
  } else {
    explain(asked, sums.failed);
  }
  return 1;
}

int run_mutants(Asked asked) {
  int survivors = 0;
  int demanded = 0;
  const auto begun = std::chrono::steady_clock::now();
  for (const KnownMutant& one : known_mutants()) {
    ++demanded;
    core::planted_mutant = one.mutant;
    asked.focus = one.focus;
    asked.seeds = static_cast<std::uint64_t>(one.seeds);
    asked.from = one.from;
    const Sums sums = run_jobs(asked);
    std::cout << (sums.failed != 0 ? "caught    " : "SURVIVED  ") << one.name << ": " << one.what;
    if (sums.failed != 0) {
      std::cout << "; seed " << sums.failed << ", of at most " << one.seeds << " from " << one.from
                << ": "
                << (sums.died_of != 0 ? died(sums.died_of)
                                      : outcome_of(Draw::of(sums.failed, asked.focus)));
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

/// Looks for a history that ends in the violation that is sought. Returns the seed; 0: there is
/// none.
std::uint64_t seek(Asked asked, const BrokenRule& one, std::string words) {
  sought = {std::move(words), one.fault};
  core::planted_mutant = one.mistake != nullptr ? one.mistake->mutant : core::Mutant::none;
  asked.focus = one.focus;
  asked.from = one.mistake != nullptr ? one.mistake->from : 1;
  asked.seeds =
      one.fault ? 200'000 : 20'000;  // few seeds have such a fault, and the others are passed by
  const std::uint64_t found = run_jobs(asked).failed;
  core::planted_mutant = core::Mutant::none;
  sought = {};
  return found;
}

/// Breaks each rule of the proofs in the code: the history ends in what the proof's history ends
/// in, and the referee names the rule at the step that breaks it.
int run_rules(const Asked& asked) {
  int missed = 0, broken = 0;
  const auto begun = std::chrono::steady_clock::now();
  std::vector<BrokenRule> rules;
  try {
    rules = broken_rules(asked.rules);
  } catch (const std::runtime_error& wrong) {
    std::cerr << wrong.what() << '\n';
    return 64;
  }
  std::erase_if(rules,
                [&](const BrokenRule& one) { return one.rule.find(asked.rule) == one.rule.npos; });
  if (rules.empty()) {
    std::cerr << "no rule of " << asked.rules << " has the words \"" << asked.rule << "\"\n";
    return 64;
  }
  for (const BrokenRule& one : rules) {
    const std::string name = one.model + ", \"" + one.rule + '"';
    if (!one.reason.empty()) {
      std::cout << "not here  " << name << ": " << one.reason << std::endl;
      continue;
    }
    ++broken;
    std::string found, missing;
    const auto expect = [&](const std::string& words) {
      const std::uint64_t seed = seek(asked, one, words);
      const std::string what =
          ' ' + words + (seed != 0 ? " (seed " + std::to_string(seed) + ")" : "");
      (seed != 0 ? found : missing) += what + ';';
    };
    if (!one.harm.empty()) expect(one.harm);
    if (!one.step.empty()) expect("breaks \"" + one.step + '"');
    if (!missing.empty()) ++missed;
    std::cout << (missing.empty() ? "broken    " : "MISSED    ") << name << ", by "
              << (one.mistake != nullptr ? one.mistake->name : to_string(*one.fault)) << ':'
              << found << (missing.empty() ? "" : " NOT FOUND:" + missing) << std::endl;
  }
  std::cout << broken << " rules broken, " << missed << " of them without the violation, in "
            << seconds_since(begun) << " s\n";
  return missed == 0 ? 0 : 1;
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
    } else if (flag == "--changes") {
      asked.changes = std::stoull(value());
    } else if (flag == "--jobs") {
      asked.jobs = std::stoi(value());
    } else if (flag == "--trace") {
      asked.trace = true;
    } else if (flag == "--digest") {
      asked.digest = true;
    } else if (flag == "--rules") {
      asked.rules = value();
    } else if (flag == "--rule") {
      asked.rule = value();
    } else if (flag == "--mutants") {
      asked.mutants = true;
    } else if (flag == "--mutant") {
      asked.mutant = mistake_named(value());
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
  test::oversee();
  std::optional<sim::Asked> asked;
  try {
    asked = sim::parse(argc, argv);
  } catch (const std::exception&) {
  }
  if (!asked || asked->jobs < 1 || asked->jobs > sim::most_jobs) {
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
  if (!asked->rules.empty()) return sim::run_rules(*asked);
  if (asked->mutants) return sim::run_mutants(*asked);
  return asked->seed || asked->draw ? sim::run_one(*asked) : sim::run_many(*asked);
}
