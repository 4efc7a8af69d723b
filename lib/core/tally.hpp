#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <quorumlock/outcome.hpp>

#include "core/quorum.hpp"
#include "core/types.hpp"

namespace quorumlock::core {

/// Returns true if the node reported what it holds, so that it counts as reached.
constexpr bool is_answer(Vote vote) {
  return vote == Vote::granted || vote == Vote::held || vote == Vote::absent;
}

/// Returns true if the command may have run, or may yet run, although no answer confirms it.
constexpr bool maybe_executed(Vote vote) {
  return vote == Vote::timed_out || vote == Vote::disconnected || vote == Vote::failed;
}

/// The votes of one round: the nodes asked and their answers.
class Tally {
 public:
  /// Begins a round over these nodes, none of which has been asked yet. `by` is what the nodes have
  /// said of their list so far; if they have said nothing, a majority of all nodes is needed.
  void begin(NodeSet nodes) { begin(nodes, {0, quorum_of(nodes.size())}); }
  void begin(NodeSet nodes, Majority by) {
    nodes_ = nodes;
    by_ = by;
    granted_ = answered_ = pending_ = NodeSet();
    // fill() of an enumeration is a loop, byte by byte, in a build without full optimization.
    static_assert(sizeof(Vote) == 1);
    std::memset(votes_.data(), static_cast<int>(Vote::unreachable), votes_.size());
  }
  void ask(int node) {
    votes_[static_cast<std::size_t>(node)] = Vote::pending;
    pending_.add(node);
  }
  /// Records a node's answer, or why it was not asked. The last record counts, so that an answer
  /// after the timeout still does.
  ///
  /// `says` is what the node says of its list. The newest list is the one that counts: votes for
  /// older ones do not. As many votes are needed as the most that any voter says, since during a
  /// change of the list two majorities have to meet.
  void record(int node, Vote vote, Majority says = {}) {
    if (vote == Vote::granted && says != by_) vote = of_another_list(says);
    votes_[static_cast<std::size_t>(node)] = vote;
    pending_.remove(node);
    granted_.remove(node);
    answered_.remove(node);
    if (vote == Vote::granted) granted_.add(node);
    if (is_answer(vote)) answered_.add(node);
  }

  /// The client has moved to these nodes; `list` is what they say of their list. Their votes stay
  /// valid: a node that votes for a list that is to follow votes for the list before it, too. Votes
  /// of nodes that have left do not: a holder after the change may have no vote of such a node.
  void move_to(Majority list, NodeSet nodes) {
    if (list.list() > by_.list()) by_ = {list.list(), std::max(by_.votes(), list.votes())};
    if (planted(Mutant::votes_of_nodes_that_left)) return;
    for (const int node : granted_ - nodes) record(node, Vote::nodes_differ);
  }

  /// Whether a quorum granted.
  [[nodiscard]] Verdict granted() const { return judge(granted_); }
  /// Whether a quorum was reached at all. Won: it was; lost: too few nodes can still answer.
  [[nodiscard]] Verdict reached() const { return judge(answered_); }
  /// Whether too many nodes have answered that they do not hold the key for a quorum to hold it,
  /// whatever the rest would answer.
  [[nodiscard]] bool certainly_gone() const { return leaves_no_quorum(gone()); }
  /// The nodes that have answered that they do not hold the key.
  [[nodiscard]] NodeSet gone() const { return answered_ - granted_; }
  /// Whether no quorum can hold the key if these nodes do not.
  [[nodiscard]] bool leaves_no_quorum(NodeSet gone) const {
    return (nodes_ - gone).size() < by_.votes();
  }
  /// The votes that the round needs, as its voters report it.
  [[nodiscard]] int needed() const { return by_.votes(); }

  /// The nodes of the list when the round began.
  [[nodiscard]] NodeSet nodes() const { return nodes_; }
  [[nodiscard]] Vote vote(int node) const { return votes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] NodeSet granted_by() const { return granted_; }
  [[nodiscard]] NodeSet pending() const { return pending_; }

 private:
  [[nodiscard]] Verdict judge(NodeSet yes) const {
    const bool of_these = planted(Mutant::quorum_over_connected) && !answered_.empty();
    const int needed = of_these ? quorum_of((answered_ | pending_).size()) : by_.votes();
    return verdict(needed, yes.size(), pending_.size());
  }
  /// Counts the vote of a node that says something else of its list than the nodes before it.
  Vote of_another_list(Majority says) {
    if (says == Majority()) return Vote::granted;
    if (says.list() < by_.list()) return Vote::nodes_differ;
    if (says.list() > by_.list()) {
      for (const int node : NodeSet(granted_)) record(node, Vote::nodes_differ);
    }
    by_ = std::max(by_, says);
    return Vote::granted;
  }

  Majority by_;
  NodeSet nodes_, granted_, answered_, pending_;
  std::array<Vote, max_nodes> votes_{};
};

/// The votes of a finished round in 20 bytes: bit i of word n is bit n of node i's vote.
class PackedVotes {
 public:
  PackedVotes() = default;
  explicit PackedVotes(const Tally& tally) {
    // The set of nodes that granted gives word 0 their bits; only the other votes are looked at.
    static_assert(static_cast<unsigned>(Vote::granted) == 1);
    bits_[0] = tally.granted_by().bits();
    for (const int node : tally.nodes() - tally.granted_by()) {
      const auto vote = static_cast<unsigned>(tally.vote(node));
      for (unsigned n = 0; n < bits_.size(); ++n) bits_[n] |= (vote >> n & 1U) << node;
    }
  }
  [[nodiscard]] Vote vote(int node) const {
    unsigned vote = 0;
    for (unsigned n = 0; n < bits_.size(); ++n) vote |= (bits_[n] >> node & 1U) << n;
    return static_cast<Vote>(vote);
  }

 private:
  std::array<std::uint32_t, 5> bits_{};
  static_assert(static_cast<unsigned>(Vote::failed) < 32);
};

}  // namespace quorumlock::core
