#pragma once

#include <cstdint>
#include <vector>

#include "admin/members_change.hpp"
#include "admin/settlement_wait.hpp"
#include "sim/world/machine.hpp"
#include "sim/world/operator.hpp"

namespace quorumlock::sim {

/// Ends the change of the list of nodes after everything has healed, and does what the library's
/// messages say.
class LastOperator : Machine {
 public:
  using Machine::Machine;
  /// Checks that the change can be ended, and that each client that has the list then gets the
  /// lock.
  void demand();
  /// Makes nodes forget what somebody has made up on them.
  void make_forget();

 private:
  redis::NodeNames end_change();
  [[nodiscard]] Look look_at_all(const redis::NodeNames& next) const;
  [[nodiscard]] std::uint64_t floor_of(const Look& look, const redis::MembersChange& change) const;
  void forget_bad_counters();
  [[nodiscard]] bool is_stranded(const Look& look) const;
  static bool is_forgotten(const redis::MembersChange& change);
  static bool is_decided_twice(const Look& look);
  bool make_next_step(const Look& look, redis::SettlementWait& wait, redis::NodeNames& next);
  [[nodiscard]] redis::NodeNames list_on_disk() const;
  [[nodiscard]] bool contradicts(const redis::NodeNames& list) const;

  bool decided_twice_ = false;
};

}  // namespace quorumlock::sim
