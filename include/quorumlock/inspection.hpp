#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// What one node holds under a resource's key.
struct NodeHolding {
  std::string node;
  Vote vote = Vote::pending;  ///< held, absent, or why the node did not answer
  std::string token;          ///< the owner token, or what kind of value it is, where held
  std::optional<std::chrono::milliseconds> expires_in;  ///< unset: without an expiry, or not held
  std::string detail;
};

/// A look at a resource, node by node. Not a snapshot: the nodes are asked side by side.
struct Inspection {
  std::string resource;
  std::vector<NodeHolding> nodes;
  int quorum = 0;
  /// The token that a quorum of nodes holds; empty where none does.
  std::string holder;

  [[nodiscard]] int count(Vote vote) const noexcept;
};

}  // namespace quorumlock
