#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <quorumlock/election.hpp>

#include "lock/quorum.hpp"
#include "lock/types.hpp"
#include "wire/reply.hpp"

namespace quorumlock::detail {

/// One look at the leader, node by node, and what a quorum of nodes agrees on.
class LeaderView {
 public:
  void begin(core::NodeSet nodes);
  /// Takes a node's answer to leader.lua, or null if the node did not answer. Returns false if the
  /// node was heard before.
  bool note(int node, const redis::Reply* reply);
  [[nodiscard]] bool complete() const { return pending_.empty(); }
  [[nodiscard]] int asked() const { return nodes_.size(); }
  [[nodiscard]] int answered() const { return answered_; }
  /// Whether a quorum of nodes has answered: then leader() is right, also if it is unset.
  [[nodiscard]] bool known() const { return answered_ >= core::quorum_of(asked()); }

  /// The holder of the lock on a quorum of nodes. If version() is not 0, further answers change
  /// nothing: a quorum has the value that was proclaimed last, and at least one of its nodes has
  /// answered.
  [[nodiscard]] const std::optional<Leader>& leader() const { return leader_; }
  /// The number of the leader's announcement, which grows with each; 0: none.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// The shortest time until the lock's key expires on a node, unless it is renewed; 0: unknown.
  [[nodiscard]] core::Duration first_expiry() const { return first_expiry_; }

 private:
  struct Node {
    Leader leader;  // if it has no token, there is no leader
    std::uint64_t version = 0;
  };
  void conclude();

  core::NodeSet nodes_;
  int answered_ = 0;
  core::NodeSet pending_;
  std::array<Node, core::max_nodes> said_;  ///< indexed by node
  std::optional<Leader> leader_;
  std::uint64_t version_ = 0;
  core::Duration first_expiry_{};
};

}  // namespace quorumlock::detail
