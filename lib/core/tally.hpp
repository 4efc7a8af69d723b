#pragma once

#include <array>
#include <cstdint>

#include <quorumlock/outcome.hpp>

#include "core/quorum.hpp"
#include "core/types.hpp"

namespace quorumlock::core {

/// True if the node reported what it holds, so that it counts as reached.
constexpr bool is_answer(Vote vote) {
  return vote == Vote::granted || vote == Vote::held || vote == Vote::absent;
}

/// True if the command may have run, or may yet run, although no answer confirms it.
constexpr bool maybe_executed(Vote vote) {
  return vote == Vote::timed_out || vote == Vote::disconnected || vote == Vote::failed;
}

/// The votes of one round: the nodes asked and their answers.
class Tally {
 public:
  /// Begins a round over `nodes` nodes, none of which has been asked yet.
  void begin(int nodes) {
    nodes_ = nodes;
    granted_ = answered_ = pending_ = NodeSet();
    votes_.fill(Vote::unreachable);
  }
  void ask(int node) {
    votes_[static_cast<std::size_t>(node)] = Vote::pending;
    pending_.add(node);
  }
  /// Records a node's answer, or why it was not asked. The last record counts, so that an answer
  /// after the timeout still does.
  void record(int node, Vote vote) {
    votes_[static_cast<std::size_t>(node)] = vote;
    pending_.remove(node);
    granted_.remove(node);
    answered_.remove(node);
    if (vote == Vote::granted) granted_.add(node);
    if (is_answer(vote)) answered_.add(node);
  }

  /// Did a quorum grant?
  [[nodiscard]] Verdict granted() const { return judge(granted_); }
  /// Was a quorum reached at all? Won: it was; lost: too few nodes can still answer.
  [[nodiscard]] Verdict reached() const { return judge(answered_); }
  /// Have too many nodes answered that they do not hold the key for a quorum to hold it, whatever
  /// the rest would answer?
  [[nodiscard]] bool certainly_gone() const {
    return nodes_ - (answered_ - granted_).size() < quorum_of(nodes_);
  }

  [[nodiscard]] int nodes() const { return nodes_; }
#ifdef QUORUMLOCK_MUTANTS
  void count_over(int nodes) {
    nodes_ = nodes;
  }
#else
  void count_over(int) {}
#endif
  [[nodiscard]] Vote vote(int node) const {
    return votes_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] NodeSet granted_by() const {
    return granted_;
  }
  [[nodiscard]] NodeSet pending() const {
    return pending_;
  }

 private:
  [[nodiscard]] Verdict judge(NodeSet yes) const {
    return verdict(nodes_, yes.size(), pending_.size());
  }

  int nodes_ = 0;
  NodeSet granted_, answered_, pending_;
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
    for (const int node : NodeSet::first(tally.nodes()) - tally.granted_by()) {
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
