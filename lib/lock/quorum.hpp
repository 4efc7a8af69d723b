#pragma once

#include <cstdint>
#include <type_traits>

#include "lock/mutants.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

/// The verdict of a round of votes.
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
constexpr Verdict verdict(int needed, int yes, int pending) {
  if (yes >= needed) return Verdict::won;
  if (yes + pending < needed) return Verdict::lost;
  return Verdict::pending;
}

/// A majority of a list, counted by names: the number of votes that it takes, and the nodes whose
/// votes count. A list may have nodes that this client's list lacks; they raise the number, and
/// cannot vote.
class Majority {
 public:
  /// Asks for nothing.
  constexpr Majority() = default;
  constexpr Majority(NodeSet nodes, int votes)
      : nodes_(nodes), votes_(static_cast<std::uint32_t>(votes)) {}
  static constexpr Majority of(NodeSet nodes) { return {nodes, quorum_of(nodes.size())}; }
  /// No votes are enough.
  static constexpr Majority impossible() { return {NodeSet(), 1}; }

  [[nodiscard]] constexpr NodeSet nodes() const { return nodes_; }
  [[nodiscard]] constexpr int votes() const { return static_cast<int>(votes_); }
  [[nodiscard]] constexpr bool is_in(NodeSet yes) const { return (yes & nodes_).size() >= votes(); }
  /// The node has left the client's list: its number may become another node's.
  constexpr void leave(int node) { nodes_.remove(node); }
  constexpr bool operator==(const Majority&) const = default;

 private:
  NodeSet nodes_;
  std::uint32_t votes_ = 0;
};

}  // namespace quorumlock::core
