#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "lock/quorum.hpp"
#include "lock/trace.hpp"

namespace quorumlock::detail {

/// The nodes that a coordinator works with, in the order of its options. Each has a number, which
/// it keeps while the list around it changes.
class NodeList {
 public:
  struct Node {
    int number;
    std::string name;  ///< a name without secrets
  };

  void add(int number, std::string name) { nodes_.push_back({number, std::move(name)}); }
  [[nodiscard]] auto begin() const { return nodes_.begin(); }
  [[nodiscard]] auto end() const { return nodes_.end(); }
  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] int quorum() const { return core::quorum_of(size()); }
  /// The place in the list of the node with this number.
  [[nodiscard]] std::size_t place_of(int number) const {
    return static_cast<std::size_t>(std::ranges::find(nodes_, number, &Node::number) -
                                    nodes_.begin());
  }
  /// Makes an Outcome of the votes (a core::Tally or core::PackedVotes), without the nodes' own
  /// words.
  template <class Votes>
  [[nodiscard]] Outcome outcome_of(const Votes& votes, int attempts) const {
    Outcome outcome;
    outcome.quorum = quorum();
    outcome.attempts = attempts;
    outcome.votes.reserve(nodes_.size());
    for (const Node& node : nodes_) {
      outcome.votes.push_back({node.name, votes.vote(node.number), {}});
    }
    return outcome;
  }
  /// The steps of a trace, for users.
  [[nodiscard]] std::vector<TraceStep> steps_of(const core::Trace& trace) const {
    std::vector<TraceStep> steps;
    steps.reserve(trace.steps().size());
    for (const core::Trace::Step& step : trace.steps()) {
      const std::size_t place = place_of(step.node);
      const bool listed = place < nodes_.size();  // a node may have left the list meanwhile
      steps.push_back({step.kind, step.at - trace.called(), step.attempt,
                       listed ? nodes_[place].name : std::string(), step.vote, step.count});
    }
    return steps;
  }

 private:
  std::vector<Node> nodes_;
};

}  // namespace quorumlock::detail
