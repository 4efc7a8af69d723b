#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lock/mutants.hpp"
#include "lock/types.hpp"
#include "members/membership.hpp"

namespace quorumlock::redis {

/// When a list that is decided may be settled: once every lease that began before a quorum of the
/// old list was seen to be committed has ended. Each operator has an object of its own.
class SettlementWait {
 public:
  explicit SettlementWait(double drift_factor) : drift_factor_(drift_factor) {}

  /// Whether this change, which is decided, is the one that the wait is for. Operators may have
  /// settled that and decided another one since, with the same list again.
  [[nodiscard]] bool is_for(const Membership& change) const { return change_ == change; }
  /// From now on the wait is for this change.
  void begin(Membership change) {
    start_again();
    change_ = std::move(change);
  }
  /// The connections of clients with the old list have been ended on a node that had this record,
  /// by which it is committed. Whoever connects there later reads that record, or a later one.
  void connections_ended(std::string record) { ended_.insert(std::move(record)); }
  /// Whether they were. If not, the node does not count in a look, since a client without fencing
  /// may still have votes there for the old list: a plain SET names no record.
  [[nodiscard]] bool are_connections_ended(const std::string& record) const {
    return ended_.contains(record) || core::planted(core::Mutant::silent_nodes_counted);
  }
  /// Takes a look at the nodes that found the change ready to be settled. Returns how long the
  /// operator waits before the next look; zero if the list may be settled now.
  core::Duration after_look(core::Time begun, core::Time ended, core::Duration max_ttl);
  /// Forgets what was seen before.
  void start_again() {
    if (core::planted(core::Mutant::one_wait_for_two_steps)) return;
    change_.reset();
    looked_.reset();
    ended_.clear();
  }

 private:
  double drift_factor_;
  std::optional<Membership> change_;
  /// When a quorum of the old list was last seen to be committed, in one look.
  std::optional<core::Time> looked_;
  std::set<std::string> ended_;  ///< see connections_ended()
};

}  // namespace quorumlock::redis
