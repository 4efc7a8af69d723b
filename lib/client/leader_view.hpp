#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <quorumlock/election.hpp>

#include "core/quorum.hpp"
#include "core/types.hpp"
#include "redis/reply.hpp"

namespace quorumlock::client {

/// One look at who leads, node by node: what a quorum of them knows.
class LeaderView {
 public:
  void begin(int nodes);
  /// A node's answer to leader.lua, or null where there is none. False where it was heard before.
  bool note(int node, const redis::Reply* reply);
  [[nodiscard]] bool complete() const { return pending_.empty(); }
  [[nodiscard]] int answered() const { return answered_; }
  /// A quorum of nodes has answered; the leader is known, or that there is none.
  [[nodiscard]] bool known() const { return answered_ >= core::quorum_of(nodes_); }

  /// Who holds the lock on a quorum of nodes. Where version() is not 0 the nodes that have not
  /// answered yet change nothing: a quorum knew the last that was proclaimed, and one of them is
  /// here.
  [[nodiscard]] const std::optional<Leader>& leader() const { return leader_; }
  /// Grows with what it says of itself; 0: it says nothing.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// When the first of the nodes takes the lock away from whom it has it, unless that is renewed;
  /// zero: unknown.
  [[nodiscard]] core::Duration first_expiry() const { return first_expiry_; }

 private:
  struct Node {
    Leader leader;  // no token: nobody
    std::uint64_t version = 0;
  };
  void conclude();

  int nodes_ = 0;
  int answered_ = 0;
  core::NodeSet pending_;
  std::array<Node, core::max_nodes> said_;
  std::optional<Leader> leader_;
  std::uint64_t version_ = 0;
  core::Duration first_expiry_{};
};

}  // namespace quorumlock::client
