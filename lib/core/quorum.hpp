#pragma once

#include <type_traits>

#include "core/mutants.hpp"

namespace quorumlock::core {

/// What a round of votes comes to.
enum class Verdict {
  pending,  ///< the answers still out decide
  won,      ///< a quorum said yes, whatever the others will say
  lost,     ///< no quorum can say yes any more
};

/// The majority of the configured nodes, never of the connected ones: two majorities always share
/// a node, and that node grants to one.
constexpr int quorum_of(int nodes) {
  if (!std::is_constant_evaluated() && planted(Mutant::quorum_minus_one) && nodes > 1) {
    return nodes / 2;
  }
  return nodes / 2 + 1;
}

/// Decided as soon as it is certain, so that an even split settles.
constexpr Verdict verdict(int nodes, int yes, int pending) {
  const int quorum = quorum_of(nodes);
  if (yes >= quorum) return Verdict::won;
  if (yes + pending < quorum) return Verdict::lost;
  return Verdict::pending;
}

}  // namespace quorumlock::core
