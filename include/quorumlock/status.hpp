#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// The connection to a node. stalled: a command is overdue; quarantined: connected, and its votes
/// do not count.
enum class NodeState { connecting, up, stalled, quarantined, down };
std::string_view to_string(NodeState state) noexcept;

/// How a node keeps what it is told. Unset or empty: it would not say.
struct NodePersistence {
  std::optional<bool> append_only;
  std::string append_fsync;  ///< always, everysec or no
  std::optional<bool> no_fsync_on_rewrite;
  std::optional<bool> last_write_ok;  ///< of the append-only file
  /// Whether every write is on its disk before it is answered; false where that is not known.
  bool durable = false;
};

/// How much a node may keep, and what it does at the limit. Unset or empty: it would not say.
struct NodeMemory {
  std::optional<std::uint64_t> limit;  ///< maxmemory in bytes; 0: none
  std::string eviction_policy;         ///< such as noeviction or allkeys-lru
};

/// Who gets in, and what we may do there. Unset: unknown.
struct NodeAccess {
  std::optional<bool> scripts;  ///< this user may call EVAL and EVALSHA
  /// Anybody who reaches it is let in: no password was needed, protected-mode is off and it listens
  /// beyond the loopback interface.
  std::optional<bool> open_to_all;
};

/// A node's clock, held against ours.
struct NodeClock {
  /// By how much it is ahead of our wall clock, give or take `uncertainty`.
  std::optional<std::chrono::nanoseconds> offset;
  std::chrono::nanoseconds uncertainty{};
  /// How much faster than our suspend-proof clock it has run since an earlier look (0.01: one per
  /// cent), give or take `drift_uncertainty`. Unset until that is known better than drift_factor.
  std::optional<double> drift;
  double drift_uncertainty = 0;
  /// The last step beyond what drift_factor allows; its votes do not count for `mistrusted_for`.
  std::optional<std::chrono::nanoseconds> jump;
  std::chrono::nanoseconds mistrusted_for{};
};

/// Whether what a node remembers may be counted on.
struct NodeEnrolment {
  enum class Standing { unknown, enrolled, quarantined, refused };
  Standing standing = Standing::unknown;
  std::string why;                             ///< a clause, where it is not enrolled
  std::chrono::nanoseconds quarantined_for{};  ///< at least, from now on
  // The record that the node carries; unset where there is none or it cannot be read.
  std::optional<std::chrono::milliseconds> max_ttl;
  std::optional<bool> durable;
  /// Since when the order of fencing tokens rests on the nodes' clocks, because the counters could
  /// not be repaired from a quorum. Unset: on the counters alone.
  std::optional<std::chrono::system_clock::time_point> clocks_order_fences_since;
};
std::string_view to_string(NodeEnrolment::Standing standing) noexcept;

/// One node as a voter.
struct NodeStatus {
  std::string node;   ///< its address, without secrets
  std::string group;  ///< that it votes in; empty where there are none
  NodeState state = NodeState::connecting;
  bool votes = false;           ///< its votes count
  Vote reason = Vote::pending;  ///< the vote that it is counted with, where they do not
  std::string trouble;          ///< why, in a clause
  std::optional<std::chrono::nanoseconds> round_trip;
  std::string role;  ///< master or replica; empty: unknown
  std::string version;
  std::string run_id;
  std::optional<std::chrono::seconds> uptime;
  std::optional<bool> cluster_mode;
  NodePersistence persistence;
  NodeMemory memory;
  NodeAccess access;
  NodeClock clock;
  NodeEnrolment enrolment;
  std::vector<std::string> same_server_as;  ///< other addresses among the nodes
};

/// One quorum group.
struct GroupStatus {
  std::string name;
  int nodes = 0;
  int quorum = 0;
  int voters = 0;  ///< how many of its nodes may vote
  [[nodiscard]] bool has_quorum() const noexcept { return voters >= quorum; }
};

/// All nodes as voters. Not a snapshot: the nodes are asked side by side.
struct ClusterStatus {
  std::vector<NodeStatus> nodes;       ///< those of a group side by side
  std::vector<GroupStatus> groups;     ///< by name; none where Options names none
  int quorum = 0;                      ///< of all nodes; 0 where several groups have one each
  std::chrono::nanoseconds max_ttl{};  ///< ours
  double drift_factor = 0;
  Quarantine quarantine = Quarantine::automatic;

  /// How many nodes may vote.
  [[nodiscard]] int voters() const noexcept;
  /// Each group has one, where there are groups.
  [[nodiscard]] bool has_quorum() const noexcept;
};

}  // namespace quorumlock
