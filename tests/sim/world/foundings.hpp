#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "members/membership.hpp"
#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// Checks the lists in the nodes' records: one founding and one epoch mean one list.
class Foundings : Machine {
 public:
  explicit Foundings(World& world);
  /// Called when a node's record has changed. Two lists whose common nodes have all forgotten, or
  /// that have no common node, cannot know of each other: nothing is promised from then on. A node
  /// whose disk still has its record has not forgotten.
  void look_at(int node);
  /// Called when a node has no record any more.
  void has_no_record(int node) { on_disk_[static_cast<std::size_t>(node)].reset(); }
  /// Called when the last operator has vouched for nodes that forgot.
  void vouched() { vouched_ = true; }

 private:
  /// The lists that any node has settled, by founding and epoch.
  using SettledLists = std::map<std::pair<std::uint64_t, std::uint32_t>, redis::NodeNames>;
  [[nodiscard]] bool knows_another_list(int node, const redis::Membership& founded) const;
  [[nodiscard]] bool is_remembered(const SettledLists::value_type& settled) const;

  SettledLists settled_lists_;
  /// The membership in each node's record, whichever run of the node wrote it.
  std::vector<std::optional<redis::Membership>> on_disk_;
  std::set<std::uint64_t> contested_;  ///< foundings with a node whose record was of another list
  bool vouched_ = false;
};

}  // namespace quorumlock::sim
