#include "sim/world/foundings.hpp"

#include <algorithm>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {

Foundings::Foundings(World& world)
    : Machine(world), on_disk_(static_cast<std::size_t>(draw_.servers())) {}

/// Whether this node's record, valid or not, is of another founding, and of a list that is not the
/// founded one.
bool Foundings::knows_another_list(int node, const redis::Membership& founded) const {
  const std::optional<redis::Membership>& its = on_disk_[static_cast<std::size_t>(node)];
  return its && its->founding != founded.founding && !its->epoch_of(founded.to);
}

/// Whether a node still serves clients with this list, which was settled.
bool Foundings::is_remembered(const SettledLists::value_type& settled) const {
  const auto& [in, list] = settled;
  return std::ranges::any_of(nodes_, [&](const Server& server) {
    const auto its = membership_of(server, now());
    return its && its->founding == in.first && its->epoch_of(list) == in.second;
  });
}

void Foundings::look_at(int node) {
  const Server& server = node_at(node);
  const auto founded = membership_of(server, now());
  if (founded && knows_another_list(node, *founded)) contested_.insert(founded->founding);
  on_disk_[static_cast<std::size_t>(node)] = membership_on_disk(server, now());
  if (!founded) return;
  if (founded->phase == ListPhase::settled) {
    const SettledLists::value_type here{{founded->founding, founded->epoch}, founded->to};
    const auto before = settled_lists_.insert(here).first;
    // An operator's word stands for nodes that forgot, and for no node that remembers.
    if (*before != here && vouched_ && !is_remembered(*before)) before->second = founded->to;
    if (*before != here) {
      report("two lists of one founding and epoch are settled: " +
             redis::names_in_words(before->second) + "; and " + redis::names_in_words(founded->to));
    }
  }
  if (contested_.contains(founded->founding)) return;
  bool others = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool is_in = redis::is_member(founded->to, name_of(static_cast<int>(i)));
    if (is_in && knows_another_list(static_cast<int>(i), *founded)) return;
    const std::optional<redis::Membership> its = membership_of(nodes_[i], now());
    if (!its || its->founding == founded->founding) continue;
    if (is_in) return;
    others = true;
  }
  if (!others) return;
  trace("two lists share no node that remembers");
  scene_.agenda.stop();
}

}  // namespace quorumlock::sim
