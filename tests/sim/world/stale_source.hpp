#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Arranges FLUSHALL beside an idle repairer whose questions are late; see Focus::stale_sources.
///
/// A holder has the lock on three of five nodes, one of which is far ahead. The second of these
/// restarts and the third gets FLUSHALL. The repairer has been idle and does not notice FLUSHALL:
/// it repairs the second node from the third and from the two nodes that the holder did not reach.
/// Its question whether the third still has its record arrives late: another client has had that
/// node enrolled again meanwhile. Then a later holder gets the lock on the nodes without the third
/// and without the one that is far ahead.
class StaleSource : Machine {
 public:
  using Machine::Machine;
  void plan();
  /// Delays the repairer's question for the record of the node that got FLUSHALL.
  TrueTime delay(const Client& client, int node, std::string_view bytes, TrueTime arrival);

 private:
  enum Role : std::size_t { holder, later_holder, repairer, witness };

  void lock_on_three();
  void forget_two();
  void forget_the_third();
  void lock_on_the_others();
  /// Runs `then` as soon as `ready` holds, unless that takes too long.
  void once(std::function<bool()> ready, Action then, int looks = 4000);
  std::optional<std::size_t> acquire(Role client, std::string_view key);
  [[nodiscard]] bool is_held(std::size_t operation) const { return operations_[operation].held; }
  [[nodiscard]] TrueTime for_good() const { return draw_.until + draw_.until; }

  static constexpr int restarted_ = 3, ahead_ = 4;
  int flushed_ = 0;
  std::array<int, 2> others_{};
  TrueTime late_until_{};
};

}  // namespace quorumlock::sim
