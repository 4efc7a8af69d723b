#include "chaos/fault.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;

/// kill -9, then a start with the data on its disk.
class KillServer final : public Fault {
 public:
  KillServer(FaultTraits traits, bool durable) : Fault(std::move(traits)), durable_(durable) {}

  [[nodiscard]] bool available(World& world, int node) const override {
    return world.nodes.durable(node) == durable_;
  }
  std::string inject(World& world, int node) override {
    world.nodes.server(node).kill();
    return "";
  }
  void heal(World& world, int node) override { world.nodes.server(node).restart(); }

 private:
  bool durable_;
};

class StopServer final : public Fault {
 public:
  using Fault::Fault;
  std::string inject(World& world, int node) override {
    world.nodes.server(node).pause();
    return "";
  }
  void heal(World& world, int node) override { world.nodes.server(node).resume(); }
};

/// A command to the server, and possibly one that takes it back.
class Command final : public Fault {
 public:
  using Words = std::vector<std::string>;
  Command(FaultTraits traits, Words inject, Words heal = {})
      : Fault(std::move(traits)), inject_(std::move(inject)), heal_(std::move(heal)) {}

  std::string inject(World& world, int node) override {
    world.nodes.ask(node, inject_);
    return "";
  }
  void heal(World& world, int node) override {
    if (!heal_.empty()) world.nodes.ask(node, heal_);
  }

 private:
  Words inject_;
  Words heal_;
};

/// A client granted the lock while two nodes refuse holds it on the other three. When the two are
/// repaired and one of the three forgets, only the quarantine prevents a second quorum.
class ForgetInTurn final : public Fault {
 public:
  using Fault::Fault;
  std::string inject(World& world, int node) override {
    limit_memory(world, node, "1");
    return "with its two neighbours out of memory before";
  }
  void heal(World& world, int node) override {
    limit_memory(world, node, "0");
    world.nodes.forget(node);
  }

 private:
  static void limit_memory(World& world, int node, const std::string& bytes) {
    for (const int after : {1, 2}) {
      const int neighbour = world.nodes.after(node, after);
      world.nodes.ask(neighbour, {"CONFIG", "SET", "maxmemory", bytes});
    }
  }
};

}  // namespace

void add_server_faults(Faults& faults) {
  const auto add = [&](Fault* fault) { faults.emplace_back(fault); };
  add(new KillServer({.name = "kill_durable",
                      .words = "killed and restarted; it had everything on disk",
                      .least = 100ms,
                      .most = 3s,
                      .forgets = true},
                     true));
  add(new KillServer({.name = "kill_volatile",
                      .words = "killed and restarted; it has forgotten everything",
                      .least = 100ms,
                      .most = 3s,
                      .forgets = true},
                     false));
  add(new StopServer({.name = "stop_server",
                      .words = "frozen (SIGSTOP): connected, but silent",
                      .least = 200ms,
                      .most = 3s}));
  add(new Command({.name = "flush", .words = "all its keys deleted (FLUSHALL)", .forgets = true},
                  {"FLUSHALL"}));
  // An empty server uses less than a megabyte.
  add(new Command({.name = "maxmemory",
                   .words = "out of memory: it refuses writes",
                   .least = 300ms,
                   .most = 3s},
                  {"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}));
  add(new ForgetInTurn({.name = "forget_in_turn",
                        .words = "all its keys deleted, just after two others were out of memory",
                        .least = 1500ms,
                        .most = 2500ms,
                        .forgets = true,
                        .alone = true}));
  add(new Command({.name = "script_flush", .words = "its scripts deleted (SCRIPT FLUSH)"},
                  {"SCRIPT", "FLUSH"}));
}

}  // namespace quorumlock::chaos
