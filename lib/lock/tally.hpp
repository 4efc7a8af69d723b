#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <quorumlock/outcome.hpp>

#include "lock/quorum.hpp"
#include "lock/types.hpp"

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
///
/// A round is won by votes that hold a majority of the client's own list, and a majority of each
/// list that one of these votes asks for: during a change of the nodes that is the old list. Votes
/// that ask for more than is there are left out, so what a minority says changes nothing for the
/// others. Two sets of votes that win still win together, so there is one greatest such set.
class Tally {
 public:
  /// Begins a round over these nodes, none of which has been asked yet; `own` is a majority of
  /// them.
  void begin(NodeSet nodes) { begin(nodes, Majority::of(nodes)); }
  void begin(NodeSet nodes, Majority own) {
    nodes_ = nodes;
    own_ = own;
    if (!asking_.empty()) [[unlikely]]
      asked_ = {};
    granted_ = answered_ = pending_ = asking_ = left_ = NodeSet();
    moved_to_ = {};
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
  /// `asks` is the majority that the node's record asks for beside that of the client's own list.
  void record(int node, Vote vote, Majority asks = {}) {
    if (asking_.contains(node)) [[unlikely]]
      asks_no_more(node);
    if (asks != Majority() && vote == Vote::granted) [[unlikely]]
      vote = asked(node, asks);
    votes_[static_cast<std::size_t>(node)] = vote;
    pending_.remove(node);
    granted_.remove(node);
    answered_.remove(node);
    if (vote == Vote::granted) granted_.add(node);
    if (is_answer(vote)) answered_.add(node);
  }

  /// The client has moved to another list, of which this is a majority. The votes so far are for
  /// the list before it, and those to come may be for either, so both majorities are needed. A
  /// round that sees another such move cannot be won any more.
  void move_to(Majority own) {
    if (planted(Mutant::moved_list_ignored)) return;
    moved_to_ = moved_to_ == Majority() ? own : Majority::impossible();
  }
  /// The round cannot be won: the nodes have turned out to be of another founding.
  void spoil() { moved_to_ = Majority::impossible(); }
  /// This node has left the client's list. A holder after the change may have no vote of such a
  /// node.
  void leave(int node) {
    left_.add(node);
    moved_to_.leave(node);
    for (Demand& each : asked_) each.majority.leave(node);
    if (granted_.contains(node)) record(node, Vote::nodes_differ);
  }

  /// Whether a quorum granted.
  [[nodiscard]] Verdict granted() const {
    if (!asking_.empty() || moved_to_ != Majority()) [[unlikely]]
      return judge(granted_);
    return by_number(granted_);
  }
  /// Whether a quorum was reached at all. Won: it was; lost: too few nodes can still answer.
  [[nodiscard]] Verdict reached() const { return by_number(answered_); }
  /// Whether too many nodes have answered that they do not hold the key for a quorum to hold it,
  /// whatever the rest would answer.
  [[nodiscard]] bool certainly_gone() const { return leaves_no_quorum(gone()); }
  /// The nodes that have answered that they do not hold the key.
  [[nodiscard]] NodeSet gone() const { return answered_ - granted_; }
  /// Whether no quorum can hold the key if these nodes do not.
  [[nodiscard]] bool leaves_no_quorum(NodeSet gone) const { return !own_.is_in(nodes_ - gone); }
  /// The least number of votes that the round needs.
  [[nodiscard]] int needed() const { return own_.votes(); }
  /// Whether the round is won if, of all nodes, these vote for it.
  [[nodiscard]] bool wins(NodeSet yes) const {
    const NodeSet accepted = acceptable(yes);
    if (planted(Mutant::majority_by_numbers) && !(yes & asking_).empty()) return by_their_word(yes);
    return own_.is_in(accepted - left_) && moved_to_.is_in(accepted);
  }
  /// The verdict if these nodes have voted for it, and those that are pending may.
  [[nodiscard]] Verdict judge(NodeSet yes) const {
    if (wins(yes)) return Verdict::won;
    return wins(yes | pending_) ? Verdict::pending : Verdict::lost;
  }

  /// The nodes of the list when the round began.
  [[nodiscard]] NodeSet nodes() const { return nodes_; }
  [[nodiscard]] Vote vote(int node) const { return votes_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] NodeSet granted_by() const { return granted_; }
  [[nodiscard]] NodeSet pending() const { return pending_; }

 private:
  /// A majority that votes ask for, and the nodes that these votes are from.
  struct Demand {
    Majority majority;
    NodeSet by;
  };

  /// The verdict if no vote asks for anything, and the client has not moved.
  [[nodiscard]] Verdict by_number(NodeSet yes) const {
    const bool of_these = planted(Mutant::quorum_over_connected) && !answered_.empty();
    const int needed = of_these ? quorum_of((answered_ | pending_).size()) : own_.votes();
    return verdict(needed, yes.size(), pending_.size());
  }
  /// Those of these votes that count if there are no others: without those that ask for more than
  /// is there.
  [[nodiscard]] NodeSet acceptable(NodeSet yes) const {
    for (bool less = !(yes & asking_).empty(); less;) {
      less = false;
      for (const Demand& each : asked_) {
        const NodeSet by = each.by & yes;
        if (by.empty() || each.majority.is_in(yes)) continue;
        yes = yes - by;
        less = true;
      }
    }
    return yes;
  }
  /// The planted mistake: as many votes as the most that any of these nodes says.
  [[nodiscard]] bool by_their_word(NodeSet yes) const {
    int votes = 0;
    for (const Demand& each : asked_) {
      if (!(each.by & yes).empty()) votes = std::max(votes, each.majority.votes());
    }
    return (yes & asking_).size() >= votes;
  }
  /// Notes what a vote asks for. Returns how it counts: not, if it asks for what is not to be had.
  Vote asked(int node, Majority asks) {
    if (planted(Mutant::votes_needed_by_own_list)) return Vote::granted;
    if (asks.votes() > asks.nodes().size()) return Vote::nodes_differ;
    for (Demand& each : asked_) {
      if (!each.by.empty() && each.majority != asks) continue;
      each.majority = asks;
      each.by.add(node);
      asking_.add(node);
      return Vote::granted;
    }
    return Vote::nodes_differ;  // the others already ask for as many other lists as are kept
  }
  void asks_no_more(int node) {
    asking_.remove(node);
    for (Demand& each : asked_) each.by.remove(node);
  }

  Majority own_;
  Majority moved_to_;  ///< a majority of the list that the client has moved to; nothing: none
  NodeSet nodes_, granted_, answered_, pending_;
  NodeSet asking_;  ///< the nodes whose votes are in asked_
  NodeSet left_;    ///< numbers of nodes that have left the client's list since the round began
  /// One change at a time makes one; the others leave room for nodes that make something up.
  std::array<Demand, 4> asked_{};
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
  static_assert(static_cast<unsigned>(Vote::bad_counter) < 32);
};

}  // namespace quorumlock::core
