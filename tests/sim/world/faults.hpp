#pragma once

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The faults of the draw: those that come at random times, those that follow certain events, and
/// the end of each fault.
class Faults : Machine {
 public:
  using Machine::Machine;
  void plan();
  void inject(Fault fault);
  /// Hides from the holder a node that has granted its lease, and makes another node, which has not
  /// granted it, forget; or the other way round, and then no message under way to or from the
  /// hidden node arrives.
  void betray(Client& client, core::NodeSet granted);
  /// Hides one node after another from a client, each for a while and in one direction or both. Now
  /// and then a node is hidden from all clients.
  void wander(std::size_t client);
  /// Called when a node has granted or renewed something.
  void has_voted(int node);
  /// Called when it would do harm if the node forgot now. Then the node often forgets: one node at
  /// a time, so that the others can go on.
  void may_forget(int node, const char* after_what);
  /// Now and then makes a node silent to this client, and perhaps deaf as well, for a time that may
  /// exceed the client's node_timeout. Afterwards the node goes on as if nothing had happened, or
  /// with a broken connection. The silent nodes are always too few to stop a quorum.
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
  void forge(int node);
  void make_up(int node);

  TrueTime next_relapse_{};  ///< the earliest moment at which a node may forget a vote
};

}  // namespace quorumlock::sim
