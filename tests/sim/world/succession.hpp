#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// What is demanded of the line when nothing goes wrong: that all are served, also after a lease
/// that ends without a release of its holder's.
class Succession : Machine {
 public:
  using Machine::Machine;
  /// Checks that all clients get the lock, each for a moment, when all want it at once, in a time
  /// that does not depend on any ttl.
  void demand_order();
  /// The holder has waited in the line itself, so its entry is still there. The holder dies, or
  /// another process releases its lease by its token: the queue head must have the lock within the
  /// time that docs/waiting.md states.
  void demand_succession();
  /// Three requests always wait in the line, and another client waits in no order: it must have its
  /// turn after a while.
  void demand_turn();

 private:
  bool has_lock_by(std::size_t number, TrueTime end, TrueTime step);
};

}  // namespace quorumlock::sim
