// The flash sale: a hundred buyers in four processes, ten phones in a plain file, and one lock on
// five Redis nodes, two of which are killed during the sale. Then the same without the lock.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <quorumlock/quorumlock.hpp>

#include "buyers.hpp"
#include "interruption.hpp"
#include "local/temporary_directory.hpp"
#include "nodes.hpp"
#include "sale.hpp"
#include "summary.hpp"

namespace flash_sale {
namespace {

using std::chrono::milliseconds;

/// Returns the outage of node 2 and node 5: without them every vote of the other three is needed.
Outage planned_outage(const SaleSettings& settings) {
  const int after = std::max(1, settings.phones * 3 / 10);
  return {.nodes = {1, 4}, .after = after, .until = std::max(after + 1, settings.phones * 7 / 10)};
}

/// Measures the cost of acquiring a lock that no other client wants.
Figures measure_free_lock(const std::vector<std::string>& nodes, int rounds,
                          const Interruption& interruption) {
  using quorumlock::Clock;
  quorumlock::Options options;
  options.nodes = nodes;
  options.wait = std::chrono::seconds(30);
  auto coordinator = quorumlock::Coordinator::create(std::move(options));
  std::vector<Duration> durations;
  for (int i = -10; i < rounds; ++i) {  // the first ten warm up while connections are made
    interruption.check();
    const Clock::time_point asked = Clock::now();
    quorumlock::Lease lease = coordinator.value().acquire("flash-sale").value();
    if (i >= 0) durations.push_back(Clock::now() - asked);
    lease.release().value();
  }
  return Figures(std::move(durations));
}

int hold_both_sales(SaleSettings settings, bool tls, const Interruption& interruption) {
  const quorumlock::local::TemporaryDirectory workspace("flash-sale");
  settings.stock = workspace.path() / "phones.txt";
  Progress progress;

  std::optional<Nodes> own;
  std::optional<Outage> outage;
  if (settings.nodes.empty()) {
    std::cout << "Starting five Redis nodes" << (tls ? " with TLS" : "") << ", in "
              << workspace.path().string() << '\n';
    own.emplace(workspace.path(), tls);
    interruption.check();
    settings.nodes = own->urls();
    outage = planned_outage(settings);
  } else {
    std::cout << "The " << settings.nodes.size()
              << " nodes are not ours: none of them is killed.\n";
  }

  std::cout << "\nWith the lock: " << counted(settings.all_buyers(), "buyer") << " in "
            << settings.processes << " processes, " << counted(settings.phones, "phone")
            << " in a file\n";
  const Sale locked = run_sale(settings, interruption, progress, [&](int sold) {
    if (outage && sold == outage->after) {
      own->kill(outage->nodes);
      progress.event("nodes 2 and 5 are killed");
    } else if (outage && sold == outage->until) {
      own->bring_back(outage->nodes);
      progress.event("nodes 2 and 5 are back");
    }
  });
  const Figures free_lock = measure_free_lock(settings.nodes, 200, interruption);
  std::cout << '\n';
  print_table(std::cout, settings, locked, outage, free_lock);
  const std::vector<std::string> wrong = faults(settings, locked, outage);
  for (const std::string& fault : wrong) std::cout << "  FAULT: " << fault << '\n';

  std::cout << "\nWithout the lock: the same buyers, the same file\n";
  settings.nodes.clear();
  const Sale unlocked = run_sale(settings, interruption, progress, [](int) {});
  std::cout << '\n';
  print_overselling(std::cout, settings, unlocked);
  const int again = sold_again(unlocked);

  std::cout << '\n';
  if (again == 0) {
    std::cout << "FAILED: without the lock nothing was sold twice, so that this run proves nothing "
                 "about the lock.\n";
  } else if (!wrong.empty()) {
    std::cout << "FAILED: " << counted(static_cast<int>(wrong.size()), "fault")
              << " under the lock.\n";
  } else {
    std::cout << "With the lock each phone was sold once. Without it " << counted(again, "buyer")
              << " paid for a phone that was gone.\n";
  }
  return wrong.empty() && again > 0 ? 0 : 1;
}

/// Adds an option for a duration with a unit.
CLI::Option* add_duration(CLI::App& app, const std::string& name, double& ms,
                          const std::string& help) {
  static const std::map<std::string, double> units{{"ms", 1}, {"s", 1000}, {"m", 60000}};
  return app.add_option(name, ms, help)
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED));
}

milliseconds to_duration(double ms) {
  return milliseconds(static_cast<milliseconds::rep>(ms));
}

}  // namespace
}  // namespace flash_sale

int main(int argc, char** argv) {
  using namespace flash_sale;
  SaleSettings sale;
  BuyersSettings buyers;
  double think = 300;
  double wait = 180'000;

  CLI::App app("A flash sale under a quorum lock, and without it");
  app.add_option("--processes", sale.processes, "processes of buyers (4)")
      ->check(CLI::Range(1, 64));
  app.add_option("--buyers", sale.buyers, "buyers in each process (25)")->check(CLI::Range(1, 500));
  app.add_option("--phones", sale.phones, "phones for sale (10)")->check(CLI::Range(3, 1000));
  add_duration(app, "--think", think, "between looking at the stock and selling (300ms)");
  add_duration(app, "--wait", wait, "how long a buyer waits for the lock at most (3m)");
  CLI::Option* nodes =
      app.add_option("--nodes", sale.nodes, "use these nodes, as URL,URL,..., and kill none")
          ->delimiter(',');
  bool tls = false;
  app.add_flag("--tls", tls, "start nodes that speak TLS only")->excludes(nodes);

  // This program starts itself again with this subcommand, for the processes of buyers.
  CLI::App* role = app.add_subcommand("buyers")->group("");
  role->add_option("--process", buyers.process);
  role->add_option("--count", buyers.buyers);
  role->add_option("--stock", buyers.stock);
  add_duration(*role, "--think", think, "");
  add_duration(*role, "--wait", wait, "");
  buyers.locked = false;
  role->add_flag("--locked", buyers.locked);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  if (*role) {
    buyers.think = to_duration(think);
    buyers.wait = to_duration(wait);
    return run_buyers(buyers);
  }

  sale.think = to_duration(think);
  sale.wait = to_duration(wait);
  if (!sale.nodes.empty()) {
    quorumlock::Options options;
    options.nodes = sale.nodes;
    if (const quorumlock::Result<void> valid = options.validate(); !valid) {
      std::cerr << "flash-sale: " << valid.error().what() << '\n';
      return 64;
    }
  }

  int ended_by = 0;
  int code = 1;
  {
    const Interruption interruption;
    try {
      code = hold_both_sales(sale, tls, interruption);
    } catch (const Interrupted& interrupted) {
      std::cerr << "\nflash-sale: interrupted; the nodes, the buyers and the files are gone.\n";
      ended_by = interrupted.signal;
    } catch (const std::exception& error) {
      std::cerr << "\nflash-sale: " << error.what() << '\n';
    }
  }
  if (ended_by != 0) ::raise(ended_by);  // so that our parent sees which signal ended us
  return code;
}
