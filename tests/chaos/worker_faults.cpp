#include "chaos/fault.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;

/// Stops a worker that holds a lock, like a long garbage collection or a suspended machine.
class StopWorker final : public Fault {
 public:
  using Fault::Fault;
  [[nodiscard]] bool available(World& world, int worker) const override {
    return world.workers.running(worker) && world.workers.holds(worker);
  }
  std::string inject(World& world, int worker) override {
    world.workers.stop(worker);
    return "";
  }
  void heal(World& world, int worker) override { world.workers.resume(worker); }
};

class KillWorker final : public Fault {
 public:
  using Fault::Fault;
  [[nodiscard]] bool available(World& world, int worker) const override {
    return world.workers.running(worker);
  }
  std::string inject(World& world, int worker) override {
    world.workers.listen();  // what it has reported until now
    world.workers.kill(worker);
    return "";
  }
  void heal(World& world, int worker) override { world.workers.start(worker); }
};

}  // namespace

void add_worker_faults(Faults& faults) {
  const auto add = [&](Fault* fault) { faults.emplace_back(fault); };
  add(new StopWorker({.name = "stop_worker",
                      .words = "frozen (SIGSTOP) beyond its lease, while it held a lock",
                      .least = 2200ms,
                      .most = 4500ms,
                      .of_worker = true,
                      .stops_worker = true}));
  add(new StopWorker({.name = "stop_worker_briefly",
                      .words = "frozen (SIGSTOP) for less than its lease",
                      .least = 50ms,
                      .most = 900ms,
                      .of_worker = true,
                      .stops_worker = true}));
  add(new KillWorker({.name = "kill_worker",
                      .words = "killed, and started again",
                      .least = 100ms,
                      .most = 1500ms,
                      .of_worker = true}));
}

}  // namespace quorumlock::chaos
