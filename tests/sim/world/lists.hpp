#pragma once

#include <optional>
#include <vector>

#include "redis/membership.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Which list of nodes operators want, and which one each client is given.
class Lists : Machine {
 public:
  using Machine::Machine;
  /// The list that the nodes are of from the beginning.
  [[nodiscard]] redis::NodeNames first() const;
  /// Every list that an operator has wanted.
  [[nodiscard]] const std::vector<redis::NodeNames>& wanted() const { return lists_; }
  /// Which lists there are from the beginning, which of them some clients have to the end, and
  /// which node some clients never see.
  void plan();
  /// Hides from each client the node that the draw names, until this time.
  void hide_nodes(TrueTime until);
  /// The state that governs: of the founding that most nodes have, the one furthest on. Nothing if
  /// no node has a record.
  [[nodiscard]] std::optional<redis::Membership> governing() const;
  /// Draws the list that an operator wants: one that was wanted before, the new list of a change
  /// that is under way, or one that differs by a node or two from the list that governs. `before`:
  /// the number of the operators before it.
  redis::NodeNames draw(std::size_t before);
  /// An operator wants this list.
  void want(const redis::NodeNames& list);
  /// An operator has seen this list settled everywhere.
  void settled(const redis::NodeNames& list);
  /// Now and then a client is given one of the lists that were wanted so far.
  void may_differ(std::size_t client);
  /// A client is given a list in the middle of a round that it has just begun.
  void follow(std::size_t client);
  void give(std::size_t number, const redis::NodeNames& list);
  void give_all(const redis::NodeNames& list);
  /// Gives most clients the new list, each at its own time.
  void tell_clients(const redis::NodeNames& list);

 private:
  redis::NodeNames next_of_plan(std::size_t before);
  const redis::NodeNames& any_wanted();

  std::vector<redis::NodeNames> lists_;
  redis::NodeNames settled_, removed_;  ///< the list last settled; nodes that have left one
};

}  // namespace quorumlock::sim
