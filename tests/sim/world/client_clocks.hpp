#pragma once

#include <vector>

#include "lock/types.hpp"
#include "sim/wall_clock.hpp"
#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

/// The clocks of a client's machine: the suspend-proof one, which has a rate of its own and may
/// stand still unnoticed, and the wall clock.
class ClientClocks final : public core::WallClock {
 public:
  ClientClocks(const Draw& draw, test::SeededRandom& world);

  /// Converts true time to the suspend-proof clock, and back: `when` returns the first moment at
  /// which that clock shows `local`.
  [[nodiscard]] core::Time local(TrueTime now) const;
  [[nodiscard]] TrueTime when(core::Time local) const;
  std::int64_t now_us() override { return wall_us_; }
  /// Sets the wall clock, which stands still between two calls.
  void begin_turn(TrueTime now);
  /// Reports that the clock stood still from `from` on, for `span`.
  void stood_still(TrueTime from, TrueTime span) { stood_.push_back({from, span}); }

 private:
  struct Stood {
    TrueTime from, span;
  };
  [[nodiscard]] core::Time shown(TrueTime counted) const;

  double rate_;
  core::Duration offset_;
  core::Duration wall_offset_;  ///< wall clock less true time
  bool wall_stands_;
  std::int64_t wall_us_ = 0;
  std::vector<Stood> stood_;
};

/// The rate of a clock, such that no two clocks diverge by more than the drift factor d. Each rate
/// may be off by e, with 2e / (1 - e) = d. The rate is drawn from the whole range, or from its two
/// ends.
double rate_within_the_bound(const Draw& draw, test::SeededRandom& random);

}  // namespace quorumlock::sim
