#include <algorithm>
#include <stdexcept>

#include "chaos/fault.hpp"
#include "chaos/pause.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Replaces a node by a spare one while the workers lock: each worker gets the new list in a file
/// of its own, one after the other, and an operator runs `quorumlock members apply`. The operator's
/// program is killed at any step, and started again.
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
    for (const Time limit = Clock::now() + 60s; !done_;) {
      if (Clock::now() > limit) {
        throw std::runtime_error(
            "the change of the list of nodes does not end; the program says: " +
            world.program.said());
      }
      pause(10ms);
      world.workers.listen();  // workers must not wait for us
      go_on(world);
    }
    world.nodes.set_list(list_);
    // The dead one is back with what it has on its disk, and asks nobody to serve it.
    if (died_) world.nodes.server(node).restart();
  }

 private:
  void apply(World& world) {
    std::vector<std::string> words = {"apply"};
    if (forced_) words.emplace_back("--force");
    world.program.start(world.nodes.urls_of(list_), words);
    const bool crashes = kills_ < 3 && between(world.random, 1, 2) == 1;
    kill_at_ = crashes ? Clock::now() + milliseconds(between(world.random, 20, 4000)) : Time::max();
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
    if (world.program.code() != 0) return apply(world);
    done_ = all_informed;
  }

  int joins_ = -1;
  std::vector<int> list_;
  bool died_ = false, forced_ = false, done_ = true;
  int informed_ = 0;  ///< workers that have the new list
  int kills_ = 0;     ///< of the program
  Time next_{};       ///< when the next worker gets it
  Time kill_at_{};
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
