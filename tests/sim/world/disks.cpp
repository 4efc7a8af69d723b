#include <utility>

#include "core/mutants.hpp"
#include "redis/enrolment_record.hpp"
#include "redis/keys.hpp"
#include "sim/world/world.hpp"
#include "support/seeded_random.hpp"

// Durable nodes that go on with another node's memory, or with a part of their own: the four
// histories of nodes whose disk is trusted.
namespace quorumlock::sim {

/// Runs the action later, if the node is still in the same run and nothing has healed.
void World::in_this_run(int node, TrueTime span, Action action) {
  const std::string run = nodes_[static_cast<std::size_t>(node)].run_id();
  after(span, [this, node, run, action = std::move(action)] {
    const Server& server = nodes_[static_cast<std::size_t>(node)];
    if (!healing_ && server.running() && server.run_id() == run) action();
  });
}

/// Runs the action some time after a client has recorded that the node is not durable. If disks are
/// not trusted nobody looks, and there is nothing to wait for.
void World::when_noticed(int node, Action action) {
  const std::string* const text =
      nodes_[static_cast<std::size_t>(node)].text_of(std::string(redis::enrolment_key), now());
  const auto record = text != nullptr ? redis::EnrolmentRecord::parse(*text) : std::nullopt;
  const bool nobody_looks =
      !draw_.trust_disk || (nodes_[static_cast<std::size_t>(node)].writes() &&
                            core::planted(core::Mutant::replicas_not_looked_at));
  const bool noticed = nobody_looks || (record && !record->durable);
  if (noticed) return after_a_grant(node, std::move(action));
  in_this_run(node, draw_.ttl / 20, [this, node, action = std::move(action)]() mutable {
    when_noticed(node, std::move(action));
  });
}

/// Keys that a release had deleted may be back.
void World::has_other_data(int node) {
  for (auto& of_client : paths_) of_client[static_cast<std::size_t>(node)].lost = true;
  forgets(node);
}

/// Returns the data of another node, unless they are a copy of this node's data. Such a copy would
/// bring back an older memory of this very node in the same run, which a client that stays
/// connected cannot detect: see fail_back().
std::optional<Server::Data> World::data_of_another(int node) {
  const std::size_t other = random_.index(nodes_.size() - 1);
  const Server& from = nodes_[other < static_cast<std::size_t>(node) ? other : other + 1];
  const std::string* const record = from.text_of(std::string(redis::enrolment_key), now());
  if (record == nullptr || !record->starts_with(from.run_id())) return std::nullopt;
  return from.data();
}

/// Runs the action soon after a new holder has been granted the lock at the node, or after `looks`
/// looks without one.
void World::after_a_grant(int node, Action action, int looks) {
  const auto owner = nodes_[static_cast<std::size_t>(node)].token_of(lock_, now());
  in_this_run(node, draw_.ttl / 20,
              [this, node, owner, looks, action = std::move(action)]() mutable {
                const auto is = nodes_[static_cast<std::size_t>(node)].token_of(lock_, now());
                const bool granted = is && is != owner;
                if (!granted && looks > 0) return after_a_grant(node, std::move(action), looks - 1);
                in_this_run(node, random_.one_in(2) ? draw_.delay : draw_span(draw_.ttl / 10),
                            std::move(action));
              });
}

void World::stop_writing(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running() || !server.writes()) return;
  // A note that stands only on nodes whose files stopped as well is lost with them: see
  // docs/promises.md, "What slips through".
  for (const Server& other : nodes_) {
    if (&other != &server && !other.writes()) return;
  }
  server.stop_writing();
  when_noticed(node, [this, node] {
    Server& stopped = nodes_[static_cast<std::size_t>(node)];
    trace("FAULT node ", node + 1, " is restarted, from an old file");
    stopped.crash();
    lose_all(node);
    after(draw_span(draw_.ttl / 10), [this, node] { restart(node); });
  });
}

void World::copy_directory(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running() || nodes_.size() == 1) return;
  after_a_grant(node, [this, node] {
    const std::optional<Server::Data> copy = data_of_another(node);
    if (!copy) return;
    trace("FAULT node ", node + 1, " gets another's directory");
    nodes_[static_cast<std::size_t>(node)].fail_over(*copy, now());
    has_other_data(node);
    lose_all(node);
  });
}

/// Either the replica existed only for a moment that no client saw, and has just been promoted; or
/// clients have seen it, and it was restarted since.
void World::promote_replica(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running()) return;
  const bool seen = random_.one_in(2);
  const auto take_over = [this, node, seen, copy = server.data()] {
    trace("FAULT a replica takes the place of node ", node + 1);
    nodes_[static_cast<std::size_t>(node)].fail_over(copy, now(), !seen);
    has_other_data(node);
    lose_all(node);
  };
  if (!seen) return after_a_grant(node, take_over);
  server.set_replicas(1);
  when_noticed(node, [this, node, take_over] {
    nodes_[static_cast<std::size_t>(node)].set_replicas(0);
    take_over();
  });
}

void World::follow_another(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running() || nodes_.size() == 1) return;
  after_a_grant(node, [this, node] {
    const std::optional<Server::Data> copy = data_of_another(node);
    if (!copy) return;
    trace("FAULT node ", node + 1, " is promoted");
    Server& promoted = nodes_[static_cast<std::size_t>(node)];
    promoted.promote(*copy);
    has_other_data(node);
    if (!random_.one_in(3)) return;
    // The restarted node has forgotten that it was a replica.
    promoted.crash();
    lose_all(node);
    after(draw_span(draw_.ttl / 10), [this, node] { restart(node); });
  });
}

/// A Sentinel promotes a replica of a node that it cannot reach, makes the node follow it, and
/// promotes the node again, in the same run. It disconnects all clients as it does so.
void World::fail_back(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running()) return;
  after_a_grant(node, [this, node, copy = server.data()] {
    trace("FAULT node ", node + 1, " is promoted, with an older copy of its own data");
    nodes_[static_cast<std::size_t>(node)].promote(copy);
    has_other_data(node);
    lose_all(node);
    in_this_run(node, draw_span(draw_.max_ttl * 4), [this, node] {
      // A real server forgets the promotion after an hour. By then clients have seen it, but the
      // node may still be waiting for its vote.
      Server& promoted = nodes_[static_cast<std::size_t>(node)];
      const bool seen = text_of(promoted, redis::enrolment_key, now()).empty();
      if (seen || membership_of(promoted)) promoted.forget_promotion();
    });
  });
}

}  // namespace quorumlock::sim
