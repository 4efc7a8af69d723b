#include "chaos/run.hpp"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <quorumlock/coordinator.hpp>

#include "chaos/checker.hpp"
#include "chaos/schedule.hpp"
#include "chaos/store.hpp"
#include "local/enroll.hpp"
#include "support/cluster.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds lock_ttl = 1500ms;
constexpr milliseconds max_ttl = 3s;
/// In a redeployment nothing is to be lost, and some workers need all three nodes for as long as a
/// lease lasts. So a lease outlasts what a busy machine keeps a node waiting for.
constexpr milliseconds max_ttl_of_redeploy = 10s;
/// How long a node that forgot casts no vote, and a margin for repairing it.
constexpr Clock::duration quarantine = max_ttl + max_ttl / 100 + 1s;
/// From the end of all faults until every worker holds a lock again: the longest quarantine, the
/// time to notice and to connect, and a few turns of the others.
constexpr Clock::duration healing_limit = 15s;
/// Time for the longest lease and a worker's last calls.
constexpr Clock::duration ending_limit = 15s;

std::vector<std::string> names_of(int resources) {
  std::vector<std::string> names;
  for (int i = 0; i < resources; ++i) names.push_back("resource-" + std::string(1, char('A' + i)));
  return names;
}

class Run {
 public:
  Run(const RunSettings& settings, const Faults& faults,
      const flash_sale::Interruption& interruption)
      : settings_(settings),
        interruption_(interruption),
        random_(settings.seed),
        resources_(names_of(settings.resources)),
        nodes_(directory_.path(), settings.nodes, settings.spares, settings.seed),
        store_(directory_.path() / "store", settings.fencing_check),
        workers_(settings.workers, settings_of_workers()),
        program_(directory_.path(), lock_ttl, max_ttl_),
        schedule_({nodes_, workers_, program_, random_}, faults, quarantine,
                  [this](const std::string& what) { say(what); }) {}

  History run() {
    if (settings_.no_quarantine) nodes_.give_records_back();
    enroll_nodes();
    for (int worker = 0; worker < workers_.size(); ++worker) workers_.start(worker);
    if (settings_.redeploys > 0) {
      redeploy();
    } else {
      make_faults();
    }
    await_healing();
    end_workers();
    if (settings_.redeploys > 0) judge_redeploy();
    await_empty_nodes();
    return history();
  }

 private:
  WorkerSettings settings_of_workers() {
    WorkerSettings each;
    each.seed = settings_.seed;
    each.configuration = directory_.path();
    each.nodes = nodes_.urls_of(nodes_.list());
    each.resources = resources_;
    each.store = directory_.path() / "store";
    each.ttl = lock_ttl;
    each.max_ttl = max_ttl_;
    each.alone = settings_.alone;
    each.keeps = settings_.redeploys > 0;
    each.verbose = settings_.verbose;
    return each;
  }

  /// The directories are new: no client can hold a lock yet.
  void enroll_nodes() { local::enroll_new(options_of(settings_of_workers())); }

  [[nodiscard]] std::string clock() const {
    std::ostringstream text;
    text.setf(std::ios::fixed);
    text.precision(2);
    text << std::chrono::duration<double>(Clock::now() - begin_).count() << " s";
    return text.str();
  }

  void say(const std::string& what) {
    if (settings_.verbose) std::cout << clock() << ": " << what << std::endl;
  }

  /// Nothing here depends on the machine's own wall clock, but the output reports if it was set.
  void watch_machine() {
    const auto apart =
        std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch();
    if (apart_ && std::chrono::abs(apart - *apart_) > 50ms) {
      std::cout << "  " << clock() << ": the machine's own wall clock was moved by "
                << std::chrono::duration_cast<milliseconds>(apart - *apart_).count() << " ms"
                << std::endl;
      apart_ = apart;
    }
    if (!apart_) apart_ = apart;
  }

  /// Listens to the workers until `deadline`, or until `done`.
  bool wait_until(
      Time deadline, const std::function<bool()>& done = [] { return false; }) {
    for (;;) {
      interruption_.check();
      watch_machine();
      workers_.listen();
      if (done()) return true;
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (left <= 0ms) return false;
      pollfd watched[] = {{workers_.fd(), POLLIN, 0}, {interruption_.fd(), POLLIN, 0}};
      // At most 100 ms: a worker that ends sends nothing.
      ::poll(watched, 2, static_cast<int>(std::min(left, milliseconds(100)).count()));
    }
  }

  /// Whether a run that has to fail has failed: more faults would show nothing more.
  bool has_failed() {
    if (settings_.fencing_check && !settings_.no_quarantine) return false;
    History so_far = history();
    const auto goes_on = [](const Holding& each) { return each.ending == Ending::unfinished; };
    std::erase_if(so_far.holdings, goes_on);
    return (!settings_.fencing_check && !check_fence_at_store(so_far).empty()) ||
           (settings_.no_quarantine && !check_exclusion(so_far).empty());
  }

  void make_faults() {
    begin_ = Clock::now();
    const Time end = begin_ + settings_.faults_for;
    Time progress = begin_ + 5s;
    while (Clock::now() < end && !has_failed()) {
      const Time next = schedule_.step();
      wait_until(std::min({next, progress, end}));
      if (Clock::now() < progress) continue;
      progress += 5s;
      std::cout << "  " << clock() << ": " << workers_.locks() << " locks, "
                << store_.writes().size() << " writes, " << schedule_.spans().size()
                << " faults; broken now: " << schedule_.now_broken() << std::endl;
    }
  }

  /// Moves to a list of all servers and back to the first one, as often as asked.
  void redeploy() {
    begin_ = Clock::now();
    const std::vector<int> few = nodes_.list();
    const std::vector<int> more = nodes_.spares();
    std::vector<int> all = few;
    all.insert(all.end(), more.begin(), more.end());
    for (int i = 0; i < settings_.redeploys; ++i) {
      // Every second time the spare servers come back with the data that they left with.
      for (const int node : more) {
        if (i % 2 == 0) nodes_.start_fresh(node);
      }
      move_to(all);
      move_to(few);
    }
  }

  /// Announces the list, gives it to one worker after the other, and decides it. Every second
  /// worker is ended and started anew; the others follow their configuration.
  void move_to(const std::vector<int>& list) {
    const std::vector<std::string> urls = nodes_.urls_of(list);
    operate(urls, {"announce"});
    for (int worker = 0; worker < workers_.size(); ++worker) {
      workers_.give_nodes(worker, urls);
      if (worker % 2 == 0) {
        workers_.end(worker);
        if (!wait_until(Clock::now() + ending_limit, [&] { return !workers_.running(worker); })) {
          throw std::runtime_error("a worker did not end when it was asked to");
        }
        workers_.start(worker);
      }
      wait_until(Clock::now() + 50ms);
    }
    operate(urls, {"apply", "--wait", "60s"});
    nodes_.set_list(list);
    std::cout << "  " << clock() << ": " << workers_.locks() << " locks, " << store_.writes().size()
              << " writes; all are at " << list.size() << " nodes" << std::endl;
  }

  void operate(const std::vector<std::string>& urls, const std::vector<std::string>& words) {
    program_.start(urls, words);
    wait_until(Clock::now() + 90s, [&] { return !program_.running(); });
    if (program_.running() || program_.code() != 0) {
      throw std::runtime_error("quorumlock members " + words.front() +
                               " has not succeeded: " + program_.said());
    }
  }

  /// A change refuses no worker, and there is no pause in which nobody gets a lock.
  void judge_redeploy() {
    if (const long long refused = workers_.refused_for_their_nodes(); refused > 0) {
      complaints_.push_back(std::to_string(refused) +
                            " acquisitions were refused because of the list of nodes");
    }
    Clock::duration longest{};
    Time last = begin_;
    for (const Holding& each : workers_.holdings()) {
      if (each.begin > last) longest = std::max(longest, each.begin - last);
      last = std::max(last, each.begin);
    }
    const auto ms = std::chrono::duration_cast<milliseconds>(longest).count();
    std::cout << "  The longest time in which nobody got a lock: " << ms << " ms" << std::endl;
    if (longest >= max_ttl_) {
      complaints_.push_back("nobody got a lock for " + std::to_string(ms) + " ms");
    }
  }

  void await_healing() {
    schedule_.heal_all();
    healed_ = Clock::now();
    say("everything is healed");
    wait_until(*healed_ + healing_limit, [&] {
      for (int worker = 0; worker < workers_.size(); ++worker) {
        if (workers_.first_lock_after(worker, *healed_) == nullptr) return false;
      }
      return true;
    });
    await_list();
    for (int worker = 0; worker < workers_.size(); ++worker) {
      const Time* again = workers_.first_lock_after(worker, *healed_);
      if (again != nullptr) again_.emplace(worker, *again);
    }
  }

  /// Brings a node that missed a change up to date, and then waits until each node of the list
  /// votes.
  void await_list() {
    program_.start(nodes_.urls_of(nodes_.list()), {"apply", "--wait", "60s"});
    wait_until(Time::max(), [&] { return !program_.running(); });
    if (program_.code() != 0) {
      complaints_.push_back("not all nodes of the list vote again: " + program_.said());
    }
  }

  void end_workers() {
    workers_.end();
    if (!wait_until(Clock::now() + ending_limit, [&] { return !workers_.any_running(); })) {
      complaints_.emplace_back("a worker did not end when it was asked to");
    }
    for (int worker = 0; worker < workers_.size(); ++worker) workers_.kill(worker);
    say("the workers have ended");
  }

  /// Waits for the keys of workers that were killed or detached, which last for a ttl.
  void await_empty_nodes() {
    const Time limit = Clock::now() + lock_ttl * 4 / 3 + 1s;
    while (!(orphans_ = nodes_.locks()).empty() && Clock::now() < limit) {
      wait_until(std::min(limit, Clock::now() + 100ms));
    }
  }

  History history() {
    History history;
    history.seed = settings_.seed;
    history.workers = workers_.size();
    history.nodes = nodes_.size();
    history.fencing_checked = settings_.fencing_check;
    history.begin = begin_;
    history.end = Clock::now();
    history.ttl = lock_ttl;
    history.max_ttl = max_ttl_;
    history.resources = resources_;
    history.resources.push_back(WorkerSettings().semaphore);
    history.holdings = workers_.holdings();
    history.writes = store_.writes();
    history.faults = schedule_.spans();
    history.orphans = orphans_;
    history.healed = healed_;
    history.healing_limit = healing_limit;
    history.again = again_;
    history.refusals = workers_.refusals();
    history.complaints = complaints_;
    std::ranges::copy(workers_.complaints(), std::back_inserter(history.complaints));
    return history;
  }

  const RunSettings& settings_;
  const milliseconds max_ttl_ = settings_.redeploys > 0 ? max_ttl_of_redeploy : max_ttl;
  const flash_sale::Interruption& interruption_;
  Random random_;
  std::vector<std::string> resources_;
  test::TemporaryDirectory directory_;
  Nodes nodes_;
  Store store_;
  Workers workers_;
  MembersProgram program_;
  Schedule schedule_;
  Time begin_{};
  std::optional<Clock::duration> apart_;  ///< wall clock less CLOCK_BOOTTIME
  std::optional<Time> healed_;
  std::map<int, Time> again_;
  std::vector<Orphan> orphans_;
  std::vector<std::string> complaints_;
};

}  // namespace

History run(const RunSettings& settings, const Faults& faults,
            const flash_sale::Interruption& interruption) {
  return Run(settings, faults, interruption).run();
}

}  // namespace quorumlock::chaos
