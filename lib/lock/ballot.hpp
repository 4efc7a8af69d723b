#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "lock/mutants.hpp"
#include "lock/quorum.hpp"
#include "lock/tag.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

/// The fencing side of a round: the number that each node has voted for.
///
/// A node's fence vote for T is "my acquisition got exactly T there" or "my raise to T was done
/// there". Each raises that node's counter strictly, so a node votes for a number once, and two
/// quorums that share a node cannot both have it.
///
/// A number that few nodes have, and that no clock explains, was made up by somebody, or has come
/// from a broken disk. It must not reach the other nodes, which it would bring near the greatest
/// number there is, so an answer with such a number waits until as many nodes as cannot all be
/// wrong have one as great, and is bad when that is impossible (proof/counters.py).
class Ballot {
 public:
  /// A node's answer to an acquisition or a raise.
  struct Said {
    int node;
    CommandKind kind;
    Vote vote;
    std::uint64_t fence;
    // What its record said when it voted: by the time a doubtful answer counts it may say less.
    Majority asks;         ///< see Tally::record
    Duration longest_ttl;  ///< with which the vote counts
  };

  void begin(std::uint64_t seen) {
    fences_.fill(0);
    raising_ = beyond_ = NodeSet();
    doubted_.clear();
    shared_ = 0;
    met_ = 0;
    target_ = 0;
    greatest_ = seen;
  }

  /// Records that the node's counter is at `fence`, and that our own command put it there.
  void vote(int node, std::uint64_t fence) {
    fences_[static_cast<std::size_t>(node)] = fence;
    saw(fence);
  }
  /// Records a counter that is not a vote for us, but that our number has to exceed.
  void saw(std::uint64_t fence) { greatest_ = std::max(greatest_, fence); }

  /// The nodes of `among` that voted for exactly this number.
  [[nodiscard]] NodeSet standing_for(std::uint64_t fence, NodeSet among) const {
    NodeSet found;
    for (const int node : among) {
      const std::uint64_t its = fences_[static_cast<std::size_t>(node)];
      const bool older = planted(Mutant::older_acknowledgements_counted) && its != 0;
      if (its == fence || (older && fence == target_)) found.add(node);
    }
    return found;
  }
  /// The number that most nodes of `among` voted for.
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

  /// Sets a new number to agree on: acknowledgements of an older number no longer count. Nodes that
  /// are still raising to the older one are asked again once they have answered.
  std::uint64_t raise_target() {
    if (target_ != greatest_) beyond_ = NodeSet();
    return target_ = greatest_;
  }
  [[nodiscard]] std::uint64_t target() const { return target_; }
  [[nodiscard]] std::uint64_t greatest() const { return greatest_; }

  /// The nodes of `among` that can still vote for the target and have not been asked to.
  [[nodiscard]] NodeSet to_ask(NodeSet among) const {
    NodeSet found;
    for (const int node : among - raising_ - beyond_) {
      if (fences_[static_cast<std::size_t>(node)] < target_) found.add(node);
    }
    return found;
  }
  /// Records that this node's counter was at `fence` already, so that its answer is not a vote.
  void refused(int node, std::uint64_t fence) {
    if (fence >= target_) beyond_.add(node);
  }

  /// Returns how many raises before this one found the counter as high already.
  int met() { return met_++; }

  /// Whether a number counts, if numbers up to `limit` do whoever says them.
  [[nodiscard]] bool believes(std::uint64_t fence, std::uint64_t limit) const {
    return fence <= limit || fence <= shared_ || planted(Mutant::bad_counters_believed);
  }
  /// Keeps an answer with a number that does not count so far.
  void doubt(const Said& answer) { doubted_.push_back(answer); }
  [[nodiscard]] const std::vector<Said>& doubted() const { return doubted_; }
  /// Takes one of these answers that counts now, or never will: then as a bad counter. `pending`
  /// are the nodes that have not answered, `least` is how many nodes cannot all be wrong.
  std::optional<Said> take_settled(std::uint64_t limit, NodeSet pending, int least) {
    pending = pending | raising_;
    for (const Said& each : doubted_) pending.remove(each.node);
    for (std::size_t i = 0; i < doubted_.size(); ++i) {
      Said one = doubted_[i];
      NodeSet as_great;
      for (const Said& each : doubted_) {
        if (each.fence >= one.fence) as_great.add(each.node);
      }
      const bool counts = as_great.size() >= least || believes(one.fence, limit);
      if (!counts && as_great.size() + pending.size() >= least) continue;
      doubted_.erase(doubted_.begin() + static_cast<std::ptrdiff_t>(i));
      if (counts) shared_ = std::max(shared_, one.fence);
      if (!counts) {
        one.vote = Vote::bad_counter;
        one.fence = 0;
      }
      return one;
    }
    return std::nullopt;
  }

  /// The node has left the client's list: its number may become another node's.
  void leave(int node) {
    for (Said& each : doubted_) {
      each.asks.leave(node);
      if (each.node == node) each.asks = Majority::impossible();
    }
  }

  void ask(NodeSet nodes) { raising_ = raising_ | nodes; }
  void answered(int node) { raising_.remove(node); }
  [[nodiscard]] NodeSet raising() const { return raising_; }

 private:
  std::array<std::uint64_t, max_nodes> fences_{};
  NodeSet raising_;  ///< nodes asked to raise that have not answered yet
  NodeSet beyond_;   ///< nodes whose counters are as high as the target: they cannot vote for it
  std::vector<Said> doubted_;
  std::uint64_t shared_ = 0;  ///< enough nodes have a number as great as this one
  int met_ = 0;
  std::uint64_t target_ = 0;
  std::uint64_t greatest_ = 0;
};

}  // namespace quorumlock::core
