#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/mutants.hpp"
#include "core/types.hpp"

namespace quorumlock::core {

/// The fencing side of a round: for which number each node stands.
///
/// A node's fence vote for T is "my acquisition got exactly T there" or "my raise to T was done
/// there". Each raises that node's counter strictly, so a node votes for a number once, and two
/// quorums that share a node cannot both have it.
class Ballot {
 public:
  void begin(std::uint64_t seen) {
    fences_.fill(0);
    raising_ = raised_ = NodeSet();
    met_ = 0;
    target_ = 0;
    seen_ = greatest_ = seen;
  }
  /// What a number must exceed to be a vote.
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

  /// The node's counter is at `fence`, and our own vote put it there.
  void vote(int node, std::uint64_t fence) {
    fences_[static_cast<std::size_t>(node)] = fence;
    saw(fence);
  }
  /// A counter that is not ours to count, but to exceed.
  void saw(std::uint64_t fence) { greatest_ = std::max(greatest_, fence); }

  /// Those of `among` that stand for exactly this number.
  [[nodiscard]] NodeSet standing_for(std::uint64_t fence, NodeSet among) const {
    NodeSet found;
    for (const int node : among) {
      if (fences_[static_cast<std::size_t>(node)] == fence) found.add(node);
      if (planted(Mutant::older_acknowledgements_counted) && raised_.contains(node))
        found.add(node);
    }
    return found;
  }
  /// The number that most of `among` stand for.
  [[nodiscard]] std::uint64_t most_common(NodeSet among) const {
    std::uint64_t best = 0;
    int votes = 0;
    for (const int node : among) {
      const std::uint64_t fence = fences_[static_cast<std::size_t>(node)];
      if (const int size = standing_for(fence, among).size(); size > votes) {
        best = fence;
        votes = size;
      }
    }
    return best;
  }

  /// A new number to agree on: acknowledgements of an older one count for nothing any more.
  std::uint64_t raise_target() {
    raising_ = NodeSet();
    return target_ = greatest_;
  }
  [[nodiscard]] std::uint64_t target() const { return target_; }
  [[nodiscard]] std::uint64_t greatest() const { return greatest_; }

  /// How often a raise has found the counter as high already, before this.
  int met() { return met_++; }

  /// For a planted mistake.
  void acknowledged(int node) { raised_.add(node); }

  void ask(NodeSet nodes) { raising_ = raising_ | nodes; }
  void answered(int node) { raising_.remove(node); }
  [[nodiscard]] NodeSet raising() const { return raising_; }

 private:
  std::array<std::uint64_t, max_nodes> fences_{};
  NodeSet raised_;   ///< only for a planted mistake
  NodeSet raising_;  ///< asked to raise, and not answered yet
  int met_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t target_ = 0;
  std::uint64_t greatest_ = 0;
};

}  // namespace quorumlock::core
