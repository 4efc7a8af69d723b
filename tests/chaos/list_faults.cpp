#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "chaos/fault.hpp"
#include "chaos/pause.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A change is stuck if no node has made a step for this long, however slow the machine is: a wait
/// for leases and one for a new node's vote are 3 s each.
constexpr Clock::duration without_a_step = 60s;

using Steps = std::vector<std::optional<long long>>;

/// The steps that each server has made. None of them has a fault.
Steps steps_of(World& world) {
  Steps steps;
  for (int node = 0; node < world.nodes.size(); ++node) {
    steps.push_back(world.nodes.steps_made(node));
  }
  return steps;
}

std::string in_words(World& world, const Steps& steps) {
  std::string text;
  for (int node = 0; node < world.nodes.size(); ++node) {
    const std::optional<long long>& made = steps.at(static_cast<std::size_t>(node));
    text += (node > 0 ? ", " : "") + std::to_string(node + 1) + " " +
            (made                                 ? "has made " + std::to_string(*made) + " steps"
             : world.nodes.server(node).running() ? "has no record"
                                                  : "is down") +
            (world.nodes.in_list(node) ? "" : " (not in the list)");
    if (made) text += ", " + world.nodes.ask(node, {"GET", "quorumlock:members"}).text;
  }
  return text;
}

/// Replaces a node by a spare one while the workers lock. The workers get the new list one after
/// the other, each in a file of its own, and an operator runs `quorumlock members apply`. The
/// operator's program is killed at any step, and started again. After it has succeeded it runs once
/// more, for a node that could not be reached: a change is over when all nodes are at one list.
class ReplaceNode final : public Fault {
 public:
  using Fault::Fault;

  std::string inject(World& world, int node) override {
    const std::vector<int> spares = world.nodes.spares();
    joins_ = spares.at(world.random() % spares.size());
    list_ = world.nodes.list();
    std::ranges::replace(list_, node, joins_);
    // A server that was removed before may come back with what it knew then.
    const bool fresh = between(world.random, 1, 3) > 1;
    if (fresh || !world.nodes.server(joins_).running()) world.nodes.start_fresh(joins_);
    died_ = between(world.random, 1, 2) == 1;
    if (died_) world.nodes.server(node).kill();
    forced_ = between(world.random, 1, 4) == 1;
    informed_ = 0;
    kills_ = 0;
    successes_ = 0;
    done_ = false;
    next_ = Clock::now();
    apply(world);
    return std::string(died_ ? "which died, " : "") + "by server " + std::to_string(joins_ + 1) +
           (fresh ? "" : ", which comes back") + (forced_ ? ", without waiting for workers" : "");
  }

  bool is_over(World& world, int) override {
    go_on(world);
    return done_;
  }

  void heal(World& world, int node) override {
    if (!done_) finish(world);
    world.nodes.set_list(list_);
    // The dead server comes back with what it has on its disk. It is in no list, so no client uses
    // it.
    if (died_) world.nodes.server(node).restart();
  }

 private:
  /// Goes on until the change is over. No server has another fault by now.
  void finish(World& world) {
    Steps last = steps_of(world);
    for (Time limit = Clock::now() + without_a_step; !done_;) {
      pause(10ms);
      world.workers.listen();  // workers must not wait for us
      go_on(world);
      const Steps now = steps_of(world);
      if (now != last) limit = Clock::now() + without_a_step;
      last = now;
      if (!done_ && Clock::now() > limit) {
        throw std::runtime_error("the change of the list of nodes does not end; the nodes: " +
                                 in_words(world, now) + "; the program: " + world.program.said());
      }
    }
  }

  void apply(World& world) {
    applies_ = true;
    std::vector<std::string> words = {"apply"};
    if (forced_) words.emplace_back("--force");
    world.program.start(world.nodes.urls_of(list_), words);
    const bool crashes = kills_ < 3 && between(world.random, 1, 2) == 1;
    kill_at_ = crashes ? Clock::now() + milliseconds(between(world.random, 20, 4000)) : Time::max();
  }

  /// Does what the program says if a node has missed a step of the change before, and too many of
  /// the others have forgotten: finishes that one, with its nodes.
  void finish_former(World& world) {
    applies_ = false;
    world.program.start(world.nodes.urls_of(world.nodes.list()), {"commit"});
    kill_at_ = Time::max();
  }

  void go_on(World& world) {
    if (informed_ < world.workers.size() && Clock::now() >= next_) {
      world.workers.give_nodes(informed_++, world.nodes.urls_of(list_));
      next_ = Clock::now() + milliseconds(between(world.random, 20, 300));
    }
    const bool all_informed = informed_ == world.workers.size();
    if (world.program.running()) {
      if (Clock::now() < kill_at_) return;
      ++kills_;
      world.program.kill();
    }
    const int code = world.program.code();
    if (counted_ != world.program.runs()) {
      counted_ = world.program.runs();
      successes_ += applies_ && code == 0 ? 1 : 0;
      next_run_ = Clock::now() + (code == 0 ? 0ms : 100ms);
    }
    if (successes_ >= 2) {
      done_ = all_informed;
    } else if (Clock::now() >= next_run_) {
      constexpr int refused = 64;
      applies_&& code == refused ? finish_former(world) : apply(world);
    }
  }

  int joins_ = -1;
  std::vector<int> list_;
  bool died_ = false, forced_ = false, done_ = true;
  bool applies_ = true;  ///< the program makes this change and not the one before
  int informed_ = 0;     ///< workers that have the new list
  int kills_ = 0;        ///< how often the program was killed
  int successes_ = 0;
  int counted_ = 0;  ///< the runs of the program whose ends are known
  Time next_{};      ///< when the next worker gets it
  Time kill_at_{}, next_run_{};
};

}  // namespace

void add_list_faults(Faults& faults) {
  faults.emplace_back(new ReplaceNode({.name = "replace_node",
                                       .words = "replaced by another server: the list of nodes "
                                                "changes while the workers lock",
                                       .least = 100ms,
                                       .most = 1s,
                                       .of_list = true}));
}

}  // namespace quorumlock::chaos
