#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Carries out the outputs of the clients' sessions: those about connections, and the results of
/// calls, which are checked and noted in the operations.
class Results : Machine {
 public:
  using Machine::Machine;
  void carry_out(Client& client, const detail::Session::Output& output);

 private:
  void won(Client& client, const core::Acquired& acquired);
  void refused(const Client& client, const core::Refused& refused);
  [[nodiscard]] Referee::Believed believed(const Operation& one, const core::Claim& claim,
                                           core::Time until, core::Time before) const;
  void extended_to(Operation& one, core::Time deadline);
  Operation& of_lease(core::UserId user);
  /// Checks that a call is answered in time if a quorum of nodes answers: see Focus::silence.
  void prompt(const Operation& one, TrueTime asked, const char* what);
  void soon(const Operation& one);
};

}  // namespace quorumlock::sim
