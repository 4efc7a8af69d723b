#include <algorithm>

#include "redis/keys.hpp"
#include "sim/world/world.hpp"

// What the nodes' records say of their lists, and what must hold of these.
namespace quorumlock::sim {

using redis::MembersChange;

std::string World::text_of(const Server& server, std::string_view key, TrueTime now) {
  const std::string* const text = server.text_of(std::string(key), now);
  return text != nullptr ? *text : std::string();
}

/// What a server's record says, if it is valid in the server's run.
std::optional<redis::Membership> World::membership_of(const Server& server) const {
  MembersChange::Node node;
  node.carries(server.run(), text_of(server, redis::enrolment_key, now()),
               text_of(server, redis::members_key, now()));
  return node.membership;
}

/// What a server's record says, in whichever run of the server it was written.
std::optional<redis::Membership> World::on_disk(const Server& server) const {
  const std::string record = text_of(server, redis::enrolment_key, now());
  MembersChange::Node node;
  node.carries(record.substr(0, record.find(':')), record,
               text_of(server, redis::members_key, now()));
  return node.membership;
}

/// Whether this node's record, valid or not, is of another founding, and of a list that is not the
/// founded one.
bool World::knows_another_list(int node, const redis::Membership& founded) const {
  const std::optional<redis::Membership>& its = on_disk_[static_cast<std::size_t>(node)];
  return its && its->founding != founded.founding && !its->epoch_of(founded.to);
}

/// Whether a node still serves clients with this list, which was settled.
bool World::is_remembered(const SettledLists::value_type& settled) const {
  const auto& [in, list] = settled;
  return std::ranges::any_of(nodes_, [&](const Server& server) {
    const auto its = membership_of(server);
    return its && its->founding == in.first && its->epoch_of(list) == in.second;
  });
}

/// Called when a node's record has changed. A founding and an epoch are one list. Two lists whose
/// common nodes have all forgotten cannot know of each other, nor can lists without a common node:
/// nothing is promised from then on. A node whose disk still has its record has not forgotten.
void World::look_at_founding(int node) {
  const Server& server = nodes_[static_cast<std::size_t>(node)];
  const auto founded = membership_of(server);
  if (founded && knows_another_list(node, *founded)) contested_.insert(founded->founding);
  on_disk_[static_cast<std::size_t>(node)] = on_disk(server);
  if (!founded) return;
  if (founded->phase == redis::MembersPhase::settled) {
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
    const std::optional<redis::Membership> its = membership_of(nodes_[i]);
    if (!its || its->founding == founded->founding) continue;
    if (is_in) return;
    others = true;
  }
  if (!others) return;
  trace("two lists share no node that remembers");
  agenda_.stop();
}

}  // namespace quorumlock::sim
