#pragma once

#include <utility>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The clients' processes: when each has a turn, is stopped and goes on, or dies.
class Processes : Machine {
 public:
  using Machine::Machine;
  /// Runs one turn of a client's loop, as the driver does.
  void turn(Client& client);
  /// Runs an action in a process: at once, or, if the process is stopped, as soon as it goes on. If
  /// the process is gone, the action never runs.
  template <class Does>
  void run(std::size_t number, std::size_t life, Does action) {
    Client& client = clients_[number];
    if (client.life != life) return;
    if (client.paused) {
      client.missed.push_back(std::move(action));
      return;
    }
    action();
    turn(client);
  }
  /// Lets a client go on. Everything that came in while the client was stopped comes in now, at a
  /// single moment.
  void resume(Client& client);
  /// Stops a client's machine, and its clock with it.
  void stand_still(Client& client, TrueTime span);
  /// Kills a client's process, which therefore releases nothing.
  void die(Client& client);

 private:
  void plan_turn(Client& client);
  void end_stand_still(Client& client);
  void demand_no_leases(const Client& client);
};

}  // namespace quorumlock::sim
