#pragma once

#include <map>
#include <utility>

#include "members/membership.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Arranges the events of a history so that one certain mistake does harm; see draw_traps.cpp.
class Traps : Machine {
 public:
  using Machine::Machine;
  /// Called when an operator commits the change to this list. The first client, which has asked for
  /// nothing so far, is given the list at the same moment, so it reads that the change is
  /// announced. One node of both lists is slow to report that. Just before it does, the client asks
  /// for the lock: the node that left grants, the client moves, and the other node of both lists
  /// answers only then.
  void move_at_commit(const redis::NodeNames& list);
  /// Whether this client asks for nothing yet, and is given no list.
  [[nodiscard]] bool is_quiet(const Client& client) const {
    return draw_.stale_source || (draw_.moves_at_commit && client.number == 0 && now() < asks_at_);
  }
  /// Called after each turn of a client. If it has just seen that a candidate's wait is over, it
  /// often loses sight of the node, which often forgets it: what the client has seen is old.
  void look_at_candidates(Client& client);

 private:
  TrueTime asks_at_ = TrueTime::max();
  std::map<std::pair<std::size_t, int>, bool> ripe_;  ///< by client and server
};

}  // namespace quorumlock::sim
