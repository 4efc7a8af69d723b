#pragma once

#include <optional>

#include "lock/mutants.hpp"
#include "lock/types.hpp"

namespace quorumlock::redis {

/// When a list that is decided may be settled: once every lease that began before a quorum of the
/// old list was seen to be committed has ended. Each operator has an object of its own.
class SettlementWait {
 public:
  explicit SettlementWait(double drift_factor) : drift_factor_(drift_factor) {}

  /// Takes a look at the nodes that found the change ready to be settled. Returns how long the
  /// operator waits before the next look; zero if the list may be settled now.
  core::Duration after_look(core::Time begun, core::Time ended, core::Duration max_ttl);
  [[nodiscard]] bool has_begun() const { return looked_.has_value(); }
  /// Forgets what was seen before.
  void start_again() {
    if (!core::planted(core::Mutant::one_wait_for_two_steps)) looked_.reset();
  }

 private:
  double drift_factor_;
  /// When a quorum of the old list was last seen to be committed, in one look.
  std::optional<core::Time> looked_;
};

}  // namespace quorumlock::redis
