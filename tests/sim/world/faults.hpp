#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// What goes wrong in the draw's own time or after certain events, and when it ends.
class Faults : Machine {
 public:
  using Machine::Machine;
  void plan();
  void inject(Fault fault);
  /// The holder loses sight of a node that has granted its lease, and a node that has not forgets;
  /// or the other way round, and then nothing that was under way arrives.
  void betray(Client& client, core::NodeSet granted);
  /// A client does not see one of the nodes for a while, in one direction or both; then another.
  /// Now and then no client sees it.
  void wander(std::size_t client);
  /// Called when a node has granted or renewed something.
  void has_voted(int node);
  /// Called when it would do harm if the node forgot now. Then the node often forgets: one node at
  /// a time, so that the others can go on.
  void may_forget(int node, const char* after_what);
  /// From now on a node says nothing to this client, or hears nothing either, for a time that may
  /// exceed its node_timeout. Afterwards it goes on as if nothing had happened, or with a broken
  /// connection. These are always too few nodes to stop a quorum.
  void fall_silent(std::size_t client, int node);
  /// Lets a request for another client's lock arrive as the lock's key runs out, and hides the node
  /// from the holder until then.
  TrueTime outlast(Client& client, int node, TrueTime arrival);
  /// Delays a raise that would arrive at `arrival`, or loses it.
  TrueTime hinder(Client& client, int node, TrueTime arrival);
  void restart(int node);
  /// Called when a node has forgotten what it knew.
  void forgets(int node);

 private:
  void forget_all();
  void crash(int node, TrueTime away);

  TrueTime next_relapse_{};  ///< the earliest moment at which a node may forget a vote
};

}  // namespace quorumlock::sim
