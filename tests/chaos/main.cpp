// Real faults on real servers: see README.md.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "chaos/checker.hpp"
#include "chaos/page.hpp"
#include "chaos/run.hpp"
#include "chaos/verdict.hpp"
#include "chaos/worker.hpp"

namespace quorumlock::chaos {
namespace {

/// The named faults, or all. Throws if there is none of a given name.
Faults chosen(const std::vector<std::string>& names) {
  Faults all = all_faults();
  if (names.empty()) return all;
  Faults some;
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(
        all, [&](const auto& fault) { return fault && fault->traits().name == name; });
    if (found == all.end()) throw CLI::ValidationError("--faults", "there is no fault " + name);
    some.push_back(std::move(*found));
  }
  return some;
}

void list(std::ostream& out) {
  for (const auto& fault : all_faults()) {
    const FaultTraits& traits = fault->traits();
    out << traits.name << " (" << (traits.assumption == Assumption::within ? "within" : "beyond")
        << " Redlock's assumptions): " << (traits.of_worker ? "a worker " : "a node ")
        << traits.words << '\n';
  }
}

int judge(const History& history, const Faults& faults, const std::string& page) {
  const std::vector<Violation> violations = check(history);
  std::size_t shown = 0;
  for (const Violation& each : violations) {
    if (++shown > 20) break;
    std::cout << "  " << seconds_into(history, each.at) << ", " << name_of(each.promise) << ", "
              << (each.resource.empty() ? "" : each.resource + ": ") << each.sentence << '\n';
  }
  if (violations.size() > 20) std::cout << "  and " << violations.size() - 20 << " more\n";
  if (!page.empty()) {
    std::ofstream file(page);
    file << page_of(history, violations, faults);
    if (!file.flush()) throw std::runtime_error("cannot write " + page);
    std::cout << "The page: " << page << '\n';
  }
  std::cout << verdict(history, violations) << std::endl;
  return violations.empty() ? 0 : 1;
}

}  // namespace
}  // namespace quorumlock::chaos

int main(int argc, char** argv) {
  using namespace quorumlock::chaos;
  // A durable node answers once the disk has its data, and a disk that others write to may take
  // longer than a lease. Faults are to be ours alone, so the data is in memory if that has a
  // folder.
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 0);
  RunSettings settings;
  settings.seed = std::random_device()();
  int seconds = 30;
  std::string page;
  std::vector<std::string> names;
  bool unfenced = false;
  bool list_only = false;

  CLI::App app("Real faults on real redis-servers, and what becomes of the locks");
  app.add_option("--seconds", seconds, "how long faults are made (30)")
      ->check(CLI::Range(1, 86400));
  app.add_option("--seed", settings.seed, "what the faults are drawn from (a new one)");
  app.add_option("--page", page, "write the result there, as one HTML page");
  app.add_option("--faults", names, "only these, as NAME,NAME,...")->delimiter(',');
  app.add_option("--workers", settings.workers, "processes that want the locks (6)")
      ->check(CLI::Range(2, 26));
  app.add_option("--resources", settings.resources, "locks that they want (3)")
      ->check(CLI::Range(1, 26));
  app.add_option("--redeploy", settings.redeploys,
                 "instead of faults: 20 workers are deployed anew, from three nodes to five and "
                 "back, as often as this")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-fencing-check", unfenced, "a store that accepts everything: it has to fail");
  app.add_flag("--no-quarantine", settings.no_quarantine,
               "nodes that forgot in turn get their records back at once: it has to fail");
  app.add_flag("--alone", settings.alone,
               "workers ask for one exclusive lock at a time, in no order");
  app.add_flag("--verbose", settings.verbose, "report each fault");
  app.add_flag("--list", list_only, "print the faults and end");

  // The command with which this program starts itself again, as a worker.
  WorkerSettings worker;
  int ttl = 0;
  int max_ttl = 0;
  CLI::App* role = app.add_subcommand("worker")->group("");
  role->add_option("--number", worker.number);
  role->add_option("--worker-seed", worker.seed);
  role->add_option("--configuration", worker.configuration);
  role->add_option("--resources", worker.resources)->delimiter(',');
  role->add_option("--semaphore", worker.semaphore);
  role->add_option("--store", worker.store);
  role->add_option("--ttl", ttl);
  role->add_option("--max-ttl", max_ttl);
  role->add_flag("--alone", worker.alone);
  role->add_flag("--keeps", worker.keeps);
  role->add_flag("--verbose", worker.verbose);

  Faults faults;
  try {
    app.parse(argc, argv);
    faults = chosen(names);
  } catch (const CLI::Error& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  if (*role) {
    worker.ttl = std::chrono::milliseconds(ttl);
    worker.max_ttl = std::chrono::milliseconds(max_ttl);
    return run_worker(worker);
  }
  if (list_only) {
    list(std::cout);
    return 0;
  }
  settings.faults_for = std::chrono::seconds(seconds);
  settings.fencing_check = !unfenced;
  if (settings.redeploys > 0) {
    settings.nodes = 3;
    settings.workers = 20;
    settings.resources = 6;
  }

  int ended_by = 0;
  int code = 1;
  {
    const flash_sale::Interruption interruption;
    std::cout << "Seed " << settings.seed << ", "
              << (settings.redeploys > 0 ? "rolling redeployments"
                                         : std::to_string(seconds) + " s of faults")
              << std::endl;
    try {
      code = judge(run(settings, faults, interruption), faults, page);
    } catch (const flash_sale::Interrupted& interrupted) {
      std::cerr << "\nchaos: interrupted; servers, workers and files are gone.\n";
      ended_by = interrupted.signal;
    } catch (const std::exception& error) {
      std::cerr << "\nchaos: " << error.what() << '\n';
    }
  }
  if (ended_by != 0) ::raise(ended_by);  // so that our caller sees what ended us
  return code;
}
