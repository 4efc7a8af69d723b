#include "sim/world/disks.hpp"

#include <utility>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

Disks::Disks(World& world) : Machine(world), copies_(static_cast<std::size_t>(draw_.servers())) {}

void Disks::copy_all() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) copies_[i] = nodes_[i].data;
}

void Disks::fail_over(int node) {
  node_at(node).fail_over(copies_[static_cast<std::size_t>(node)], now());
  world_.faults.forgets(node);
  world_.network.lose_all(node);
}

/// Runs the action later, if the node is then still in the same run and the faults have not ended.
void Disks::in_this_run(int node, TrueTime span, Action action) {
  const std::string run = node_at(node).run().id();
  after(span, [this, node, run, action = std::move(action)] {
    const Server& server = node_at(node);
    if (!scene_.healing && server.running() && server.run().id() == run) action();
  });
}

void Disks::has_other_data(int node) {
  world_.paths.count_as_lost(node);
  world_.faults.forgets(node);
}

/// Returns the data of another node, unless that data is a copy of this node's. Such a copy would
/// bring back an older memory of this very node in the same run, which a client that stays
/// connected cannot detect: see fail_back().
std::optional<Server::Data> Disks::data_of_another(int node) {
  const std::size_t other = random_.index(nodes_.size() - 1);
  const Server& from = nodes_[other < static_cast<std::size_t>(node) ? other : other + 1];
  const std::string* const record = from.at(now()).text_of(std::string(redis::enrolment_key));
  if (record == nullptr || !record->starts_with(from.run().id())) return std::nullopt;
  return from.data;
}

/// Runs the action soon after a new holder has been granted the lock at the node, or after `looks`
/// looks without one.
void Disks::after_a_grant(int node, Action action, int looks) {
  const auto owner = node_at(node).at(now()).token_of(scene_.lock);
  in_this_run(node, draw_.ttl / 20,
              [this, node, owner, looks, action = std::move(action)]() mutable {
                const auto is = node_at(node).at(now()).token_of(scene_.lock);
                const bool granted = is && is != owner;
                if (!granted && looks > 0) return after_a_grant(node, std::move(action), looks - 1);
                in_this_run(node, random_.one_in(2) ? draw_.delay : draw_span(draw_.ttl / 10),
                            std::move(action));
              });
}

void Disks::stop_writing(int node) {
  Server& server = node_at(node);
  if (!server.running() || !server.writes()) return;
  server.stop_writing();
  after_a_grant(node, [this, node] {
    Server& stopped = node_at(node);
    trace("FAULT node ", node + 1, " is restarted, from an old file");
    stopped.crash();
    world_.network.lose_all(node);
    after(draw_span(draw_.ttl / 10), [this, node] { world_.faults.restart(node); });
  });
}

void Disks::copy_directory(int node) {
  Server& server = node_at(node);
  if (!server.running() || nodes_.size() == 1) return;
  after_a_grant(node, [this, node] {
    const std::optional<Server::Data> copy = data_of_another(node);
    if (!copy) return;
    trace("FAULT node ", node + 1, " gets another's directory");
    node_at(node).fail_over(*copy, now());
    has_other_data(node);
    world_.network.lose_all(node);
  });
}

void Disks::promote_replica(int node) {
  Server& server = node_at(node);
  if (!server.running()) return;
  const bool knows = random_.one_in(2);
  after_a_grant(node, [this, node, knows, copy = server.data] {
    trace("FAULT a replica takes the place of node ", node + 1);
    node_at(node).fail_over(copy, now(), knows);
    has_other_data(node);
    world_.network.lose_all(node);
  });
}

void Disks::follow_another(int node) {
  Server& server = node_at(node);
  if (!server.running() || nodes_.size() == 1) return;
  after_a_grant(node, [this, node] {
    const std::optional<Server::Data> copy = data_of_another(node);
    if (!copy) return;
    trace("FAULT node ", node + 1, " is promoted");
    Server& promoted = node_at(node);
    promoted.promote(*copy);
    has_other_data(node);
    if (!random_.one_in(3)) return;
    // The restarted node has forgotten that it was a replica.
    promoted.crash();
    world_.network.lose_all(node);
    after(draw_span(draw_.ttl / 10), [this, node] { world_.faults.restart(node); });
  });
}

void Disks::fail_back(int node) {
  Server& server = node_at(node);
  if (!server.running()) return;
  after_a_grant(node, [this, node, copy = server.data] {
    trace("FAULT node ", node + 1, " is promoted, with an older copy of its own data");
    node_at(node).promote(copy);
    has_other_data(node);
    world_.network.lose_all(node);
    in_this_run(node, draw_span(draw_.max_ttl * 4), [this, node] {
      // A real server forgets the promotion after an hour. By then clients have seen it, but the
      // node may still be waiting for its vote.
      Server& promoted = node_at(node);
      const bool seen = text_of(promoted, redis::enrolment_key, now()).empty();
      if (seen || membership_of(promoted, now())) promoted.forget_promotion();
    });
  });
}

}  // namespace quorumlock::sim
