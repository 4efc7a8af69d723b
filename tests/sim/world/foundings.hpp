#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "redis/membership.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Checks what the nodes' records say of their lists: a founding and an epoch are one list.
class Foundings : Machine {
 public:
  explicit Foundings(World& world);
  /// Called when a node's record has changed. Two lists whose common nodes have all forgotten
  /// cannot know of each other, nor can lists without a common node: nothing is promised from then
  /// on. A node whose disk still has its record has not forgotten.
  void look_at(int node);
  /// Called when a node has no record any more.
  void has_no_record(int node) { on_disk_[static_cast<std::size_t>(node)].reset(); }
  /// The last operator has vouched for nodes that forgot.
  void vouched() { vouched_ = true; }

 private:
  /// By founding and epoch: the lists that any node has settled.
  using SettledLists = std::map<std::pair<std::uint64_t, std::uint32_t>, redis::NodeNames>;
  [[nodiscard]] bool knows_another_list(int node, const redis::Membership& founded) const;
  [[nodiscard]] bool is_remembered(const SettledLists::value_type& settled) const;

  SettledLists settled_lists_;
  /// What each node's record says, in whichever run of the node it was written.
  std::vector<std::optional<redis::Membership>> on_disk_;
  std::set<std::uint64_t> contested_;  ///< foundings with a node that knew itself of another list
  bool vouched_ = false;
};

}  // namespace quorumlock::sim
