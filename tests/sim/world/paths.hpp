#pragma once

#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The paths of messages between the clients and the nodes, and when a message arrives.
class Paths : Machine {
 public:
  struct Path {
    TrueTime blocked_to{}, blocked_from{};  ///< nothing arrives before these
    TrueTime extra{};                       ///< added to the delay of each message
    int percent = 100;                      ///< the path's delay in percent of the draw's
    bool lost = false;                      ///< whether a connection has broken since the beginning
    TrueTime silent_until{};                ///< the end of its silence: see Focus::silence
  };

  explicit Paths(World& world);
  /// Draws how fast the client's paths are.
  void draw_speeds(std::size_t client);
  [[nodiscard]] Path& between(std::size_t client, int node) {
    return paths_[client][static_cast<std::size_t>(node)];
  }
  /// The time at which a message that is sent now arrives, after all earlier ones on its
  /// connection.
  TrueTime arrival(std::size_t client, int node, bool to_node, TrueTime& last);
  /// Hides the node from the client until this time. Messages under way arrive at any time, so this
  /// is as good as a lost connection.
  void hide(std::size_t client, int node, TrueTime until);
  /// From now on each connection to this node counts as one that has broken.
  void count_as_lost(int node);
  void heal();
  [[nodiscard]] bool any_lost() const;

 private:
  std::vector<std::vector<Path>> paths_;  ///< by client and node
};

}  // namespace quorumlock::sim
