#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/detail/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// The state of the connection to a node. stalled: a command is overdue. quarantined: connected,
/// but the node's votes do not count.
enum class NodeState { connecting, up, stalled, quarantined, down };
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(NodeState state) noexcept;

/// How a node persists its data. Unset or empty: the node did not report it.
struct NodePersistence {
  std::optional<bool> append_only;          ///< the option appendonly
  std::string append_fsync;                 ///< always, everysec or no
  std::optional<bool> no_fsync_on_rewrite;  ///< the option no-appendfsync-on-rewrite
  std::optional<bool> last_write_ok;        ///< the last write of the append-only file
  /// Whether every write is on the node's disk before it is answered; false if that is not known.
  bool durable = false;
};

/// How much memory a node may use, and what it does at the limit. Unset or empty: the node did not
/// report it.
struct NodeMemory {
  std::optional<std::uint64_t> limit;                   ///< maxmemory in bytes; 0: none
  std::string eviction_policy;                          ///< such as noeviction or allkeys-lru
  std::optional<std::uint64_t> machine = std::nullopt;  ///< memory of its machine, in bytes
  /// The number of fencing counters of locks that were used within Options::fencing_memory, and the
  /// bytes that these take. Both are estimated from a sample of a few hundred keys.
  std::optional<std::uint64_t> counters = std::nullopt;
  std::optional<std::uint64_t> counters_bytes = std::nullopt;  ///< see above
};

/// Which users the node admits, and what ours may do there. Unset: unknown.
struct NodeAccess {
  std::optional<bool> scripts;  ///< this user may call EVAL and EVALSHA
  /// Every client that can reach the node is admitted: no password was needed, protected-mode is
  /// off, and the node listens beyond the loopback interface.
  std::optional<bool> open_to_all;
  /// The rights that locks need and this user lacks, as the ACL names them (client|kill, zadd,
  /// &quorumlock:wake:*). Empty if no right is missing, or the node does not answer.
  std::vector<std::string> missing_rights = {};
  /// Others in the network can read the traffic: the node is on another machine and has no TLS.
  bool plain_text = false;
};

/// A node's clock, compared with ours.
struct NodeClock {
  /// How far the node's clock is ahead of our wall clock, give or take `uncertainty`.
  std::optional<std::chrono::nanoseconds> offset;
  std::chrono::nanoseconds uncertainty{};  ///< half of the round trip that measured it
  /// How much faster than our suspend-proof clock the node's clock has run since an earlier look
  /// (0.01: one per cent), give or take `drift_uncertainty`. Unset until that is known better than
  /// drift_factor.
  std::optional<double> drift;
  double drift_uncertainty = 0;  ///< see above
  /// The clock's last step beyond what drift_factor allows. The node's votes do not count for
  /// `mistrusted_for`.
  std::optional<std::chrono::nanoseconds> jump;
  std::chrono::nanoseconds mistrusted_for{};  ///< the time that is left
};

/// Whether a node can be relied on to remember its locks.
struct NodeEnrolment {
  /// Whether it is enrolled; quarantined: it will be enrolled once the locks that it may have
  /// forgotten are over.
  enum class Standing { unknown, enrolled, quarantined, refused };
  Standing standing = Standing::unknown;       ///< the standing that this client sees
  std::string why;                             ///< a clause, if it is not enrolled
  std::chrono::nanoseconds quarantined_for{};  ///< the least time that is left
  // The record on the node; unset if there is none or it cannot be read.
  std::optional<std::chrono::milliseconds> max_ttl;  ///< the longest ttl of all clients
  /// Since when the order of fencing tokens rests on the nodes' clocks, because the counters could
  /// not be repaired from a quorum. Unset: the order rests on the counters alone.
  std::optional<std::chrono::system_clock::time_point> clocks_order_fences_since;
  // More of the record on the node.
  std::optional<std::chrono::seconds> fencing_memory = std::nullopt;  ///< a term of its list
  /// Whether this client has seen nodes of this cluster enrolled. Then locks may be held, and the
  /// cluster is not new.
  bool was_enrolled = false;
  /// Whether it waits for a client with an operator's rights to enrol it, since this one may not.
  bool awaits_operator = false;
  /// Whether it waits, and no connected client enrols it, as far as that is known.
  bool nobody_enrols = false;
  std::uint64_t enrolments = 0;  ///< how often this coordinator has enrolled it
};
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(NodeEnrolment::Standing standing) noexcept;

/// How far a change of the list of nodes has come on one node.
enum class ListPhase {
  settled,    ///< it has one list
  announced,  ///< it serves clients with the old list, and those with the new one
  unsettled,  ///< the new list is decided; leases of the old one may last
};
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(ListPhase phase) noexcept;

/// A node's record of the list of nodes that it votes for (docs/members.md).
struct NodeMembership {
  std::string configured_name;  ///< the name that this client would give it
  // The node's record; empty if there is none or it cannot be read.
  std::string name;                ///< the name in its record
  std::uint32_t epoch = 0;         ///< grows with each change of the list
  std::optional<ListPhase> phase;  ///< unset if there is no record
  std::vector<std::string> nodes;  ///< the list, in order
  std::vector<std::string> next;   ///< the list that is announced or committed; empty if settled
};

/// One node as a voter.
struct NodeStatus {
  std::string node;   ///< its address, without secrets
  std::string group;  ///< the group that it votes in; empty if there are no groups
  NodeState state = NodeState::connecting;  ///< the state of its connection
  bool votes = false;                       ///< whether its votes count
  Vote reason = Vote::pending;              ///< counts as this vote if its own votes do not count
  std::string trouble;                      ///< why, in a clause
  std::optional<std::chrono::nanoseconds> round_trip;  ///< the shortest round trip of this look
  std::string role;                                    ///< master or replica; empty: unknown
  std::string version;  ///< "7.0.15" of Redis, or "valkey 8.0.1"; empty: unknown
  std::string run_id;   ///< which run of the server it is
  std::optional<std::chrono::seconds> uptime;  ///< the time since that run began
  std::optional<bool> cluster_mode;            ///< a node of Redis Cluster casts no vote
  NodePersistence persistence;                 ///< how it keeps its data
  NodeMemory memory;                           ///< how much memory it may use
  NodeAccess access;                           ///< which users it admits
  NodeClock clock;                             ///< its clock, compared with this machine's clock
  NodeEnrolment enrolment;                     ///< whether it can have forgotten locks
  std::vector<std::string> same_server_as;     ///< other addresses among the nodes
  NodeMembership membership;                   ///< the list of nodes that it knows
  /// How many connections of this coordinator to the node came up so far. More than one: it has
  /// connected again.
  std::uint64_t connections = 0;
};

/// One quorum group.
struct GroupStatus {
  std::string name;  ///< its name in the options
  int nodes = 0;     ///< how many nodes it has
  int quorum = 0;    ///< how many of them decide
  int voters = 0;    ///< how many of its nodes may vote
  /// Whether enough of its nodes may vote.
  [[nodiscard]] bool has_quorum() const noexcept { return voters >= quorum; }
};

/// All nodes as voters. This is not a snapshot: the nodes are asked in parallel.
struct QUORUMLOCK_EXPORT ClusterStatus {
  std::vector<NodeStatus> nodes;       ///< the nodes of a group are adjacent
  std::vector<GroupStatus> groups;     ///< sorted by name; empty if Options has no groups
  int quorum = 0;                      ///< a quorum of all nodes; 0 with several groups
  std::chrono::nanoseconds max_ttl{};  ///< Options::max_ttl, or that of the nodes if it is unset
  double drift_factor = 0;             ///< this coordinator's Options::drift_factor

  /// How many nodes may vote.
  [[nodiscard]] int voters() const noexcept;
  /// Whether a quorum of nodes may vote; with groups, a quorum of every group.
  [[nodiscard]] bool has_quorum() const noexcept;
};

}  // namespace quorumlock
