#pragma once

#include <optional>
#include <vector>

#include "members/membership.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The lists of nodes: those that operators want, and those that clients are given.
class Lists : Machine {
 public:
  using Machine::Machine;
  /// The list to which the nodes belong at the beginning.
  [[nodiscard]] redis::NodeNames first() const;
  /// The first list, those of the plan, and every list that an operator has wanted.
  [[nodiscard]] const std::vector<redis::NodeNames>& wanted() const { return lists_; }
  /// Decides which lists there are from the beginning, which of them some clients have to the end,
  /// and which node some clients never see.
  void plan();
  /// Hides from each client the node that the draw names, until this time.
  void hide_nodes(TrueTime until);
  /// The membership that governs: the one furthest on in the founding that most nodes have. Nothing
  /// if no node has a record.
  [[nodiscard]] std::optional<redis::Membership> governing() const;
  /// Draws the list that an operator wants: one that was wanted before, the new list of a change
  /// that is under way, or one that differs by a node or two from the list that governs. `before`
  /// is the number of earlier operators.
  redis::NodeNames draw(std::size_t before);
  /// Called when an operator wants this list.
  void want(const redis::NodeNames& list);
  /// Called when an operator has seen this list settled everywhere.
  void settled(const redis::NodeNames& list);
  /// From now on gives the client, now and then, one of the lists that were wanted so far.
  void may_differ(std::size_t client);
  /// Now and then gives a client a list in the middle of a round that it has just begun.
  void follow(std::size_t client);
  /// The list of this client, which runs; it may have been given another one.
  [[nodiscard]] redis::NodeNames of(const Client& client) const;
  /// Whether all clients that run have this list.
  [[nodiscard]] bool have_moved_to(const redis::NodeNames& list) const;
  void give(std::size_t number, const redis::NodeNames& list);
  void give_all(const redis::NodeNames& list);
  /// Gives most clients the new list, each at its own time.
  void tell_clients(const redis::NodeNames& list);

 private:
  redis::NodeNames next_of_plan(std::size_t before);
  const redis::NodeNames& any_wanted();

  std::vector<redis::NodeNames> lists_;
  redis::NodeNames settled_, removed_;  ///< the list last settled; nodes removed from one
};

}  // namespace quorumlock::sim
