#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// One who waits in the line of a resource (docs/waiting.md).
struct LineEntry {
  std::string name;     ///< of its own in the line: its mode, its process and a number there
  std::string process;  ///< that of its coordinator: those with the same one wait together
  LockMode mode = LockMode::exclusive;
  std::uint64_t ticket = 0;  ///< the smallest is next; ties by name
  /// Since when, about: tickets are microseconds of the node whose clock is ahead of the others'.
  std::chrono::milliseconds waiting_for{};
  /// How long the entry still lives where its process does not refresh it.
  std::chrono::milliseconds expires_in{};
};

/// One of those who share a resource.
struct SharedHolding {
  std::string token;
  std::chrono::milliseconds expires_in{};
};

/// A permit of a semaphore that is held.
struct PermitHolding {
  int slot = 0;                                         ///< which of the permits, from 1 on
  std::string token;                                    ///< the owner token
  std::optional<std::chrono::milliseconds> expires_in;  ///< unset: without an expiry
};

/// The semaphore of a resource's name, which is another thing than its lock.
struct SemaphoreHolding {
  int capacity = 0;                    ///< how many permits it has; zero: nothing is known of it
  std::vector<PermitHolding> permits;  ///< those that are held, by slot
  std::vector<LineEntry> waiters;      ///< in their order, the first 1,000 of them

  /// Somebody has had a permit of it in the last 30 days, or waits for one.
  [[nodiscard]] bool known() const noexcept {
    return capacity != 0 || !permits.empty() || !waiters.empty();
  }
};

/// What one node holds under a resource's key, and who waits there.
struct NodeHolding {
  std::string node;
  Vote vote = Vote::pending;  ///< held, absent, or why the node did not answer
  std::string token;          ///< the owner token, where it is held by one alone
  std::optional<std::chrono::milliseconds> expires_in;  ///< unset: without an expiry, or not held
  std::vector<SharedHolding> readers;                   ///< where it is shared
  std::vector<LineEntry> waiters;                       ///< in their order, the first 1,000 of them
  SemaphoreHolding semaphore;
  std::string detail;  ///< another kind of value, where held; the node's trouble
};

/// A look at a resource, node by node. Each node's part is of one moment; the nodes are asked side
/// by side.
struct Inspection {
  std::string resource;
  std::string group;  ///< that it belongs to; empty where there are none
  std::vector<NodeHolding> nodes;
  int quorum = 0;
  /// The token that a quorum of nodes holds, of one who holds it alone; empty where none does.
  std::string holder;
  /// The tokens that a quorum of nodes has, of those who share it.
  std::vector<std::string> readers;
  /// Who is in line on a quorum of nodes, in their order: with the greatest ticket and age that a
  /// node tells, and the life that a quorum of them gives the entry.
  std::vector<LineEntry> waiters;
  /// Of the semaphore likewise: the capacity that a quorum of nodes has recorded, the permits that
  /// a quorum holds for one token, with the life that a quorum gives them, and its line.
  SemaphoreHolding semaphore;

  [[nodiscard]] int count(Vote vote) const noexcept;
  /// How the lock is held by a quorum; unset where it is not.
  [[nodiscard]] std::optional<LockMode> mode() const noexcept;
};

}  // namespace quorumlock
