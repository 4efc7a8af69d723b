#pragma once

#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Clients that live for less than max_ttl, and nodes whose clocks are wrong when they boot; see
/// Focus::short_lives. A client that ends first finishes what it has begun about a node that waits,
/// as a coordinator that closes does.
class ShortLives : Machine {
 public:
  explicit ShortLives(World& world);
  void plan();
  /// Called when a node has booted. Its clock is behind, and is stepped before the node may vote.
  void booted(int node);
  /// All nodes restart at once, and from then on there are only clients that live shortly: max_ttl
  /// later all nodes vote, and a client gets the lock.
  void demand();

 private:
  void plan_end(std::size_t client);
  void end_if_idle(std::size_t client, std::size_t life, TrueTime by);
  [[nodiscard]] bool all_have_records() const;

  bool only_short_ = false;
  std::vector<bool> wrong_;  ///< by node: its clock is behind
};

}  // namespace quorumlock::sim
