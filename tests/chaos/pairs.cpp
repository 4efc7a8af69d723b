// Clients with two lists of nodes that share a node lock one resource while servers are restarted,
// wiped and frozen at random, clients move to the other list, and an operator changes the nodes'
// list: there are never two holders, and tokens grow. The servers are real; the seed draws the
// plan.
//
//   pairs [--seconds N] [--seed N] [--arenas N] [--verbose]
#include <quorumlock/quorumlock.hpp>

#include <quorumlock/admin.hpp>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "chaos/pause.hpp"
#include "local/enroll.hpp"
#include "local/server.hpp"
#include "local/temporary_directory.hpp"
#include "support/redis.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using List = std::vector<int>;
using Time = Clock::time_point;

constexpr milliseconds max_ttl = 400ms;
constexpr int servers_of_an_arena = 6;

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  bool one_in(int of) { return between(1, of) == 1; }
  std::uint64_t seed() { return random_(); }
  template <class T>
  void shuffle(std::vector<T>& values) {
    std::ranges::shuffle(values, random_);
  }

 private:
  std::mt19937_64 random_;
};

struct Counts {
  std::atomic<int> cases{0}, won_by_both{0}, changes{0};
  std::atomic<long> locks{0}, refused_for_their_nodes{0};
  std::atomic<bool> failed{false};
};

/// Sees all leases of one resource, in one process and by one clock.
class Referee {
 public:
  void granted(int list, const Lease& lease, Time asked) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = lease.fencing_token();
    for (const auto& [other, at] : granted_) {
      if (other == token) complain("token " + std::to_string(token) + " was given twice");
      if (at < asked && other > token) {
        complain("token " + std::to_string(token) + " was asked for after the greater " +
                 std::to_string(other) + " had been granted");
      }
    }
    granted_.emplace_back(token, Clock::now());
    won_[static_cast<std::size_t>(list)] = true;
    for (const auto& [whose, other] : holders_) {
      // Ours is checked last: if it is valid now, it also was when the other one was checked.
      if (other->is_valid() && lease.is_valid()) {
        complain("a client with list " + std::to_string(list) + " got the lock (token " +
                 std::to_string(token) + ") while one with list " + std::to_string(whose) +
                 " held it (token " + std::to_string(other->fencing_token()) + ")");
      }
    }
    holders_.emplace_back(list, &lease);
  }
  void gone(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    std::erase_if(holders_, [&](const auto& one) { return one.second == &lease; });
  }
  [[nodiscard]] std::vector<std::string> complaints() const { return complaints_; }
  [[nodiscard]] bool both_won() const { return won_[0] && won_[1]; }
  [[nodiscard]] long locks() const { return static_cast<long>(granted_.size()); }

 private:
  void complain(std::string sentence) {
    if (complaints_.size() < 5) complaints_.push_back(std::move(sentence));
  }

  std::mutex mutex_;
  std::vector<std::pair<int, const Lease*>> holders_;
  std::vector<std::pair<std::uint64_t, Time>> granted_;
  std::vector<std::string> complaints_;
  bool won_[2] = {false, false};
};

/// Six servers, of which half write to disk before they answer.
class Arena {
 public:
  Arena() {
    std::vector<local::ServerSettings> settings;
    for (int node = 0; node < servers_of_an_arena; ++node) {
      settings.push_back(
          {.dir = directory_.path() / std::to_string(node), .durable = node % 2 == 0});
    }
    servers_ = local::Server::start_all(std::move(settings));
  }

  [[nodiscard]] Nodes urls(const List& list) const {
    Nodes nodes;
    for (const int node : list) nodes.push_back(at(node).url());
    return nodes;
  }
  [[nodiscard]] const local::Server& at(int node) const {
    return servers_[static_cast<std::size_t>(node)];
  }
  local::Server& at(int node) { return servers_[static_cast<std::size_t>(node)]; }
  test::Reply ask(int node, const std::vector<std::string>& words) const {
    return test::Redis(at(node).url())(words);
  }
  [[nodiscard]] bool has_record(int node) const {
    return ask(node, {"EXISTS", "quorumlock:enrolment"}).integer == 1;
  }
  void wipe_all() {
    for (local::Server& server : servers_) {
      if (!server.running()) server.restart();
      server.resume();
    }
    // A connection of the case before may not be closed yet, and would say that its client has seen
    // the node enrolled. A server that was stopped learns of some only after a while.
    for (int node = 0; node < servers_of_an_arena; ++node) {
      do {
        ask(node, {"CLIENT", "KILL", "TYPE", "normal"});
      } while (ask(node, {"CLIENT", "LIST"}).text.find("name=quorumlock") != std::string::npos);
      ask(node, {"FLUSHALL"});
    }
  }

 private:
  local::TemporaryDirectory directory_;
  std::vector<local::Server> servers_;
};

/// One pair of lists and one history.
class Case {
 public:
  Case(Arena& arena, std::uint64_t seed, Counts& counts, bool verbose)
      : arena_(arena), random_(seed), counts_(counts), verbose_(verbose) {
    draw_lists();
  }

  std::vector<std::string> run() {
    arena_.wipe_all();
    if (!random_.one_in(4)) {
      note("list 0 is enrolled");
      local::enroll_new(options(0));
    }
    std::vector<std::jthread> threads;
    const int clients = random_.between(2, 4);
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([this, list = i % 2, seed = random_.seed()](const std::stop_token& end) {
        lock_and_release(list, Random(seed), end);
      });
    }
    if (random_.one_in(2)) {
      threads.emplace_back([this, seed = random_.seed()](const std::stop_token& end) {
        change_list(Random(seed), end);
      });
    }
    const Time end = Clock::now() + milliseconds(random_.between(1500, 3500));
    while (Clock::now() < end) {
      pause(milliseconds(random_.between(10, 200)));
      break_something();
    }
    resume();
    threads.clear();
    ++counts_.cases;
    counts_.locks += referee_.locks();
    if (referee_.both_won()) ++counts_.won_by_both;
    return referee_.complaints();
  }
  [[nodiscard]] std::string plan() const { return plan_; }

 private:
  void note(const std::string& what) {
    const std::lock_guard lock(plan_mutex_);
    plan_ += what + "\n";
    if (verbose_) std::cout << what + "\n" << std::flush;
  }
  static std::string in_words(const List& list) {
    std::string text;
    for (const int node : list) text += (text.empty() ? "" : ", ") + std::to_string(node);
    return "{" + text + "}";
  }

  void draw_lists() {
    List all;
    for (int node = 0; node < servers_of_an_arena; ++node) all.push_back(node);
    for (List& list : lists_) {
      random_.shuffle(all);
      list.assign(all.begin(), all.begin() + random_.between(random_.one_in(4) ? 1 : 3, 5));
    }
    if (common().empty()) lists_[1].front() = lists_[0].front();
    note("lists " + in_words(lists_[0]) + " and " + in_words(lists_[1]));
  }
  [[nodiscard]] List common() const {
    List both;
    for (const int node : lists_[0]) {
      if (std::ranges::find(lists_[1], node) != lists_[1].end()) both.push_back(node);
    }
    return both;
  }

  [[nodiscard]] Options options(int list) const {
    Options options;
    options.nodes = arena_.urls(lists_[list]);
    options.max_ttl = max_ttl;
    options.ttl = *options.max_ttl;
    options.node_timeout = 200ms;
    options.connect_timeout = 300ms;
    options.retry = {10ms, 30ms};
    return options;
  }

  void lock_and_release(int list, Random random, const std::stop_token& end) {
    Coordinator coordinator = Coordinator::create(options(list)).value();
    while (!end.stop_requested()) {
      if (random.one_in(20)) {
        list = 1 - list;
        if (const Result<void> moved = coordinator.set_nodes(arena_.urls(lists_[list])); !moved) {
          throw std::runtime_error(moved.error().what());
        }
        note("a client is given list " + std::to_string(list));
      }
      LockOptions how{.wait = milliseconds(random.between(0, 300))};
      how.auto_extend = !random.one_in(3);
      if (random.one_in(3)) how.order = WaitOrder::unordered;
      const Time asked = Clock::now();
      Result<Lease> lease = coordinator.acquire("pair", how, end);
      if (!lease) {
        if (lease.error().code() == Errc::misconfigured) ++counts_.refused_for_their_nodes;
        pause(5ms);
        continue;
      }
      referee_.granted(list, *lease, asked);
      const Time enough =
          Clock::now() + milliseconds(random.between(0, random.one_in(5) ? 900 : 60));
      while (lease->is_valid() && Clock::now() < enough && !end.stop_requested()) {
        pause(2ms);
      }
      referee_.gone(*lease);
      if (random.one_in(8)) {
        lease->detach();
      } else {
        (void)lease->release();
      }
    }
  }

  /// An operator who makes steps to one list or the other at any time, in any order.
  void change_list(Random random, const std::stop_token& end) {
    while (!end.stop_requested()) {
      pause(milliseconds(random.between(50, 500)));
      const int to = random.between(0, 1);
      Result<MembersChange> change = MembersChange::open(options(to), arena_.urls(lists_[1 - to]));
      if (!change) continue;
      for (int steps = random.between(1, 6); steps > 0 && !end.stop_requested(); --steps) {
        bool done = false;
        const int step = random.between(1, 8);
        if (step == 1) done = change->withdraw().has_value();
        if (step == 2 || step == 3) done = change->announce().has_value();
        if (step == 4 || step == 5) done = change->commit(true).has_value();
        if (step > 5) {
          const Result<std::chrono::nanoseconds> left = change->settle();
          done = left && *left == 0ns;
          if (left && *left > 0ns) pause(std::chrono::ceil<milliseconds>(*left));
          if (done) ++counts_.changes;
        }
        if (done) note("step " + std::to_string(step) + " to list " + std::to_string(to));
      }
    }
  }

  /// Whether the node may lose its data: not the last node of both lists that knows its list, since
  /// lists whose common nodes have all been wiped cannot know of each other.
  bool may_be_wiped(int node) {
    const List both = common();
    if (std::ranges::find(both, node) == both.end()) return true;
    return std::ranges::any_of(both, [&](int other) {
      return other != node && other != frozen_ && arena_.has_record(other);
    });
  }

  void resume() {
    if (frozen_ >= 0) arena_.at(frozen_).resume();
    frozen_ = -1;
  }

  void break_something() {
    if (frozen_ >= 0 && random_.one_in(2)) resume();
    const int node = random_.between(0, servers_of_an_arena - 1);
    if (node == frozen_) return;
    local::Server& server = arena_.at(node);
    const std::string of = " server " + std::to_string(node);
    switch (random_.between(1, 5)) {
      case 1:
      case 2:
        if (!server.settings().durable && !may_be_wiped(node)) return;
        note("restart" + of + (server.settings().durable ? "" : ", which forgets"));
        server.kill();
        server.restart();
        break;
      case 3:
        if (!may_be_wiped(node)) return;
        note("flush" + of);
        arena_.ask(node, {"FLUSHALL"});
        break;
      case 4:
        if (frozen_ >= 0) return;
        note("freeze" + of);
        server.pause();
        frozen_ = node;
        break;
      default:
        note("reset the connections of" + of);
        arena_.ask(node, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
  }

  Arena& arena_;
  Random random_;
  Counts& counts_;
  bool verbose_;
  List lists_[2];
  Referee referee_;
  int frozen_ = -1;
  std::mutex plan_mutex_;
  std::string plan_;
};

void play(std::uint64_t seed, int number, int arenas, Time end, Counts& counts, bool verbose) {
  Arena arena;
  for (int i = number; Clock::now() < end && !counts.failed; i += arenas) {
    Case one(arena, seed * 1'000'003 + static_cast<std::uint64_t>(i), counts, verbose);
    const std::vector<std::string> complaints = one.run();
    if (complaints.empty()) continue;
    counts.failed = true;
    std::string text = "case " + std::to_string(i) + " of seed " + std::to_string(seed) + ":\n";
    text += one.plan();
    for (const std::string& complaint : complaints) text += complaint + "\n";
    std::cout << text << std::flush;
  }
}

}  // namespace
}  // namespace quorumlock::chaos

int main(int argc, char** argv) {
  using namespace quorumlock::chaos;
  std::uint64_t seed = std::random_device()();
  int seconds = 15, arenas = 2;
  bool verbose = false;
  CLI::App app(
      "Clients with any two lists that share a node, and servers that restart: one holder");
  app.add_option("--seconds", seconds, "for how long (15)")->check(CLI::Range(1, 86400));
  app.add_option("--seed", seed, "what the lists and histories are drawn from (a new one)");
  app.add_option("--arenas", arenas, "pairs at a time, each with servers of its own (2)")
      ->check(CLI::Range(1, 16));
  app.add_flag("--verbose", verbose, "print each history");
  CLI11_PARSE(app, argc, argv);
  std::cout << "Seed " << seed << std::endl;
  Counts counts;
  const auto end = quorumlock::Clock::now() + std::chrono::seconds(seconds);
  std::vector<std::thread> threads;
  for (int i = 0; i < arenas; ++i) {
    threads.emplace_back([&, i] {
      try {
        play(seed, i, arenas, end, counts, verbose);
      } catch (const std::exception& error) {
        counts.failed = true;
        std::cout << std::string("pairs: ") + error.what() + "\n" << std::flush;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << (counts.failed ? "FAILED: " : "HELD: ") << counts.cases << " pairs of lists, "
            << counts.locks << " locks, " << counts.refused_for_their_nodes
            << " requests refused because of their nodes, " << counts.changes
            << " changes of a list settled; in " << counts.won_by_both
            << " cases clients of either list got the lock, one after the other" << std::endl;
  return !counts.failed && counts.locks > 0 ? 0 : 1;
}
