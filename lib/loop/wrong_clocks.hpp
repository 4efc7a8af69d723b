#pragma once

#include <array>
#include <string>

#include "core/output.hpp"
#include "core/types.hpp"

namespace quorumlock::detail {

/// The faults that the engine has found in clocks, in words for the log and for an operator.
class WrongClocks {
 public:
  /// By how much the node's clock last exceeded the bound, and until when its votes do not count.
  struct Jump {
    core::Duration size{};
    core::Time until{};
  };

  /// A node's clock has jumped. Returns a sentence for the log.
  std::string take(const core::ClockJumped& jumped, const std::string& node);
  /// Our own clock stood still, so the nodes that seemed to be ahead are right. Returns a sentence
  /// for the log.
  std::string take(const core::ClockStood& stood);
  /// This number belongs to another node from now on.
  void forget(int node) { jumps_[static_cast<std::size_t>(node)] = {}; }
  [[nodiscard]] const Jump& jump(int node) const { return jumps_[static_cast<std::size_t>(node)]; }

 private:
  std::array<Jump, core::max_nodes> jumps_;
};

}  // namespace quorumlock::detail
