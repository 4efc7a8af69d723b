#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include <quorumlock/clock.hpp>

#include "lock/types.hpp"

namespace quorumlock::detail {

/// How long a candidate pauses after a leadership before it campaigns again. A leadership that is
/// over at once mostly means that the leader's work cannot begin, and each campaign costs the nodes
/// some hundred commands. So the pause doubles, from the first to the longest, until a leadership
/// has lasted; each is a random time in its upper half.
class CampaignPause {
 public:
  static constexpr core::Duration first = std::chrono::milliseconds(100);
  static constexpr core::Duration longest = std::chrono::seconds(10);
  /// A leadership that was this long ends what was before it.
  static constexpr core::Duration lasting = std::chrono::seconds(1);

  explicit CampaignPause(core::Random& random) : random_(random) {}

  /// A leadership has lasted for `led`: no pause follows one that has lasted.
  core::Duration after(core::Duration led) {
    if (led >= lasting) {
      next_ = first;
      return core::Duration::zero();
    }
    const core::Duration pause = std::exchange(next_, std::min(2 * next_, longest));
    return pause / 2 + random_.below(pause / 2);
  }

 private:
  core::Random& random_;
  core::Duration next_ = first;
};

}  // namespace quorumlock::detail
