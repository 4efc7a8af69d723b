#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Checks the line when nothing goes wrong: all waiters are served, also after a lease that ends
/// without a release by its holder.
class Succession : Machine {
 public:
  using Machine::Machine;
  /// Checks that all clients get the lock, each for a moment, when all want it at once, in a time
  /// that does not depend on any ttl.
  void demand_order();
  /// Checks that the queue head gets the lock within the time that docs/locks.md states when the
  /// holder dies, or another process releases the holder's lease by its token. The holder has
  /// waited in the line itself, so its entry is still there.
  void demand_succession();
  /// Checks that an unordered waiter gets the lock by looking, soon after the last of the waiters
  /// that kept the line from being empty.
  void demand_poll();

 private:
  bool has_lock_by(std::size_t number, TrueTime end, TrueTime step);
};

}  // namespace quorumlock::sim
