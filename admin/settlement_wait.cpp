#include "admin/settlement_wait.hpp"

#include <algorithm>

#include "lock/validity.hpp"

namespace quorumlock::redis {

using core::Mutant, core::planted;

core::Duration SettlementWait::after_look(core::Time begun, core::Time ended,
                                          core::Duration max_ttl) {
  if (planted(Mutant::settled_without_a_wait)) return core::Duration::zero();
  // A node that forgot after it was looked at does not vote for max_ttl, so a look that takes
  // longer says nothing.
  const bool too_long = ended - begun >= max_ttl && !planted(Mutant::nodes_seen_once);
  if (!looked_ && too_long) return max_ttl;
  if (!looked_) looked_ = ended;
  const core::Time due = *looked_ + max_ttl + core::margin(max_ttl, drift_factor_);
  return std::max(due - ended, core::Duration::zero());
}

}  // namespace quorumlock::redis
