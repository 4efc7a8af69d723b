#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The end of all faults, and what is demanded of clients and nodes from then on.
class Recovery : Machine {
 public:
  using Machine::Machine;
  /// Repairs everything, and gives back every lock.
  void heal();
  /// Checks that each client in turn gets the lock, and at once.
  void demand_progress();
  /// Checks that a client gets the lock as soon as it asks for it after its clock stood still: the
  /// nodes' clocks are right, and the client knows that once a quorum has answered.
  void demand_trust();
  /// Checks that nothing is left: no wait, no lease, no request, and no key once its ttl has
  /// passed.
  void demand_tidiness();
  /// The operator runs enroll.
  void vouch();

 private:
  void demand_releases();
  [[nodiscard]] bool too_few_vouch() const;
};

}  // namespace quorumlock::sim
