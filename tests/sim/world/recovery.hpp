#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Ends all faults, and checks what clients and nodes must do from then on.
class Recovery : Machine {
 public:
  using Machine::Machine;
  /// Repairs everything, and gives back every lock.
  void heal();
  /// Checks that one client after the other gets the lock, each in a short time.
  void demand_progress();
  /// Checks that a client gets the lock as soon as it asks for it after its clock stood still: the
  /// nodes' clocks are right, and the client knows that once a quorum has answered.
  void demand_trust();
  /// Checks that nothing is left: no wait, no lease, no request, and no key once its ttl has
  /// passed.
  void demand_tidiness();
  /// Vouches for nodes that forgot, as `quorumlock enroll` does for an operator.
  void watch();
  void vouch();

 private:
  void demand_releases();
  void demand_locks();
  [[nodiscard]] bool too_few_vouch() const;
};

}  // namespace quorumlock::sim
