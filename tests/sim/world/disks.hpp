#pragma once

#include <optional>
#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Keeps an older copy of each node's data, and makes nodes go on with such a copy, with another
/// node's data or with a part of their own.
class Disks : Machine {
 public:
  explicit Disks(World& world);
  void copy_all();
  /// Replaces a node by its older copy.
  void fail_over(int node);
  void stop_writing(int node);
  void copy_directory(int node);
  /// A replica takes the node's place. Either it has just been promoted and knows that, or it was
  /// restarted since.
  void promote_replica(int node);
  void follow_another(int node);
  /// A Sentinel promotes a replica of a node that it cannot reach, makes the node follow that
  /// replica, and promotes the node again, in the same run of the node. The Sentinel disconnects
  /// all clients as it does so.
  void fail_back(int node);
  /// Called when a node goes on with other data: keys that a release had deleted may be back.
  void has_other_data(int node);

 private:
  void in_this_run(int node, TrueTime span, Action action);
  void after_a_grant(int node, Action action, int looks = 40);
  std::optional<Server::Data> data_of_another(int node);

  std::vector<Server::Data> copies_;  ///< an older copy of each node's data
};

}  // namespace quorumlock::sim
