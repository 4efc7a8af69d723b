#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/detail/export.hpp>
#include <quorumlock/lease.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// One waiter in the line of a resource (docs/architecture.md).
struct LineEntry {
  std::string name;     ///< unique in the line: its mode, its process and a number there
  std::string process;  ///< its coordinator's id: waiters of one coordinator share it
  LockMode mode = LockMode::exclusive;  ///< whether it waits to read or to write
  std::uint64_t ticket = 0;             ///< the smallest is next; equal tickets are ordered by name
  /// How long it has waited, approximately: tickets are microseconds of the node whose clock is
  /// ahead of the others'.
  std::chrono::milliseconds waiting_for{};
  /// How long the entry still lives if its process does not refresh it.
  std::chrono::milliseconds expires_in{};
  std::string label = {};  ///< its coordinator's Options::label; empty if there is none
};

/// One reader of a resource that is held in LockMode::shared.
struct SharedHolding {
  OwnerToken token;                        ///< the owner token
  std::chrono::milliseconds expires_in{};  ///< how long it reads on unless it renews
};

/// A permit of a semaphore that is held.
struct PermitHolding {
  int slot = 0;                                         ///< the number of the permit, from 1 on
  OwnerToken token;                                     ///< the owner token
  std::optional<std::chrono::milliseconds> expires_in;  ///< unset: without an expiry
};

/// The semaphore of the resource's name, which is independent of the lock of that name.
struct SemaphoreHolding {
  int capacity = 0;                    ///< how many permits it has; 0: unknown
  std::vector<PermitHolding> permits;  ///< the held permits, by slot
  std::vector<LineEntry> waiters;      ///< in their order, the first 1,000 of them

  /// Whether a permit of it was held within Options::fencing_memory, or a waiter wants one.
  [[nodiscard]] bool known() const noexcept {
    return capacity != 0 || !permits.empty() || !waiters.empty();
  }
};

/// The value that one node holds under a resource's key, and the waiters there.
struct NodeHolding {
  std::string node;           ///< its address, without user and password
  Vote vote = Vote::pending;  ///< held, absent, or why the node did not answer
  OwnerToken token;           ///< the owner token, if held exclusively
  std::optional<std::chrono::milliseconds> expires_in;  ///< unset: without an expiry, or not held
  /// For how long it has been held exclusively, approximately: by the node's clock and the holder's
  /// fencing token. Unset: not known, as without fencing.
  std::optional<std::chrono::milliseconds> held_for;
  std::vector<SharedHolding> readers;  ///< the holders, if shared
  std::vector<LineEntry> waiters;      ///< in their order, the first 1,000 of them
  SemaphoreHolding semaphore;          ///< the semaphore of the resource's name
  std::string detail;  ///< the kind of a foreign value, if held; or the node's trouble
};

/// A look at a resource, node by node. The part of each node is of one moment; the nodes are asked
/// in parallel.
struct QUORUMLOCK_EXPORT Inspection {
  std::string resource;            ///< its name without the key prefix
  std::string group;               ///< the resource's group; empty if there are no groups
  std::vector<NodeHolding> nodes;  ///< all nodes, in the order of the options
  int quorum = 0;                  ///< a quorum of the nodes that were asked
  /// The token of the exclusive holder on a quorum of nodes; empty if there is none.
  OwnerToken holder;
  /// The holder's label (Options::label). Empty if it has none, or is a client of another library.
  std::string label;
  /// For how long it has held the resource, as far as a quorum of the nodes reports it.
  std::optional<std::chrono::milliseconds> held_for;
  /// The tokens of the readers, each on a quorum of nodes.
  std::vector<OwnerToken> readers;
  /// The waiters that are in line on a quorum of nodes, in their order. Each has the greatest
  /// ticket and waiting time that a node reports, and the longest life that a quorum of nodes
  /// reports.
  std::vector<LineEntry> waiters;
  /// The same for the semaphore: the capacity that a quorum of nodes has recorded, the permits that
  /// a quorum holds for one token, with the longest life that a quorum reports, and its line.
  SemaphoreHolding semaphore;

  /// How many nodes gave this vote.
  [[nodiscard]] int count(Vote vote) const noexcept;
  /// The mode in which a quorum of nodes holds the lock; unset if no quorum holds it.
  [[nodiscard]] std::optional<LockMode> mode() const noexcept;
};

}  // namespace quorumlock
