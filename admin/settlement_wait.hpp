#pragma once

#include <optional>
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
  /// From now on the wait is for this change. Connections of clients with the old list have to be
  /// ended before the look that is taken next, if their votes do not name a record.
  void begin(Membership change) {
    start_again();
    change_ = std::move(change);
  }
  /// Takes a look at the nodes that found the change ready to be settled. Returns how long the
  /// operator waits before the next look; zero if the list may be settled now.
  core::Duration after_look(core::Time begun, core::Time ended, core::Duration max_ttl);
  /// Forgets what was seen before.
  void start_again() {
    if (core::planted(core::Mutant::one_wait_for_two_steps)) return;
    change_.reset();
    looked_.reset();
  }

 private:
  double drift_factor_;
  std::optional<Membership> change_;
  /// When a quorum of the old list was last seen to be committed, in one look.
  std::optional<core::Time> looked_;
};

}  // namespace quorumlock::redis
