#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

/// What an operator's program needs in addition to the locks: what endangers the locks of a
/// cluster, and how its nodes are enrolled. The command line is written with it.
namespace quorumlock {

/// error: a lock could be lost, or this node can never vote. warning: the next failure may stop all
/// locks. hint: the cluster is well for now.
enum class Severity { error, warning, hint };
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(Severity severity) noexcept;

/// One thing that endangers locks.
struct Finding {
  Severity severity;   ///< How much it matters.
  std::string node;    ///< Empty: the finding is about the nodes together.
  std::string code;    ///< One word for programs, such as "no_fsync".
  std::string what;    ///< What was found, in a sentence.
  std::string remedy;  ///< What to do about it.
};

/// All findings of a status (Coordinator::status), the gravest first, and of those the ones about
/// the nodes together.
QUORUMLOCK_EXPORT std::vector<Finding> findings_of(const ClusterStatus& status);

/// Creates a coordinator as Coordinator::create does. In addition it enrols anew, with its own
/// options, the nodes that are enrolled with another max_ttl or for other groups; these nodes do
/// not vote until the greater of the two max_ttl has passed. For the operator only.
QUORUMLOCK_EXPORT Result<Coordinator> create_enrolling(Options options);

/// Gives the operator's word that nodes that are new, or have forgotten their locks, may vote again
/// although fewer other nodes remember than it takes to vouch for them. Each such node still waits
/// for max_ttl, and if too few others remember, the order of its fencing tokens rests on the nodes'
/// clocks.
///
/// If there are several groups, that word takes effect once no node of any group votes on the old
/// terms and every lease granted on the old terms has run out, so that a resource that moves to
/// another group is held in neither.
///
/// Takes a coordinator that create_enrolling() returned. Call it repeatedly until status() shows
/// that every node votes. Blocking; not on the loop's thread.
QUORUMLOCK_EXPORT void vouch_for_nodes(const Coordinator& coordinator);

/// Deletes the fencing counters of resources that nobody will ever lock again, on every node that
/// answers. A resource that is locked again afterwards gets smaller fencing tokens than before.
/// Blocking, takes one round trip for every 500 resources; not on the loop's thread.
QUORUMLOCK_EXPORT void forget_counters(Coordinator& coordinator,
                                       std::vector<std::string> resources);

/// A lock, or a permit of a semaphore, that a quorum of nodes holds for one owner token.
struct HeldLock {
  std::string resource;                 ///< its name without the key prefix
  std::string group;                    ///< empty if there are no groups
  LockMode mode = LockMode::exclusive;  ///< whether its holder reads or writes
  int permit = 0;                       ///< the permit's number; 0: it is a lock
  std::string label;                    ///< the holder's (Options::label); empty if it has none
  std::string token_begin;  ///< the first eight letters of the owner token, never all of it
  int nodes = 0;            ///< how many nodes hold it
  /// For how long it has been held, approximately. Unset: not known, as for readers.
  std::optional<std::chrono::milliseconds> held_for;
  /// How long a quorum of nodes still holds it unless it is renewed. Unset: without an expiry.
  std::optional<std::chrono::milliseconds> expires_in;
  int waiters = 0;  ///< waiters in its line, or in the semaphore's; at most 1,000 are counted
  std::uint64_t fencing_token = 0;  ///< 0: not known, as for readers and without fencing
  /// Whether the holder leads an election of this name, as a quorum of nodes knows it.
  bool leads = false;
  /// The label of the first waiter, as one of the nodes knows it; empty if it has none.
  std::string next_waiter = {};
  /// What the leader has proclaimed, as one of the nodes knows it; at most its first 1,000 bytes.
  std::string leader_value = {};
};

/// The locks that list_locks() looks for.
struct LocksQuery {
  /// Resources to list, as a pattern of Redis: `*`, `?`, `[abc]`.
  std::string pattern = "*";
  /// A node is no longer asked once it has reported more locks than this, or 16 MiB of their names.
  std::size_t most = 10'000;
};

/// The result of list_locks().
struct LockList {
  std::vector<HeldLock> locks;  ///< sorted by resource and permit
  bool complete = true;         ///< false: a node has more than LocksQuery::most
  Outcome outcome;              ///< granted: the node has answered to the end
};

/// Lists the locks and permits that are held on a quorum of nodes. Only keys that are locks of this
/// library are listed: the holder's token has a label, or the key has a fencing counter or a line.
/// It is not a snapshot: a lock that changes hands meanwhile may be missing. Of a lock's readers,
/// those that each node has among its first 20 are listed.
///
/// Each node is scanned in calls that look at about 100 keys, which keeps it busy for a fraction of
/// a millisecond at a time; a node with a million keys takes 10,000 round trips. Blocking; not on
/// the loop's thread. Errc::no_quorum if fewer than a quorum of nodes answer to the end.
QUORUMLOCK_EXPORT Result<LockList> list_locks(Coordinator& coordinator,
                                              const LocksQuery& query = {});

}  // namespace quorumlock
