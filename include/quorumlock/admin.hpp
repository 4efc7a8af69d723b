#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

/// What an operator's program needs in addition to the locks: what endangers the locks of a
/// cluster, how its nodes are enrolled and their list is changed, and which locks are held. A
/// program that includes this links quorumlock::admin, as the command line does.
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
/// that every node votes, or why it does not: the word may be given, and a node still refuse it.
/// Errc::timed_out if it does not take effect yet. Blocking; not on the loop's thread
/// (Errc::would_deadlock).
QUORUMLOCK_EXPORT Result<void> vouch_for_nodes(const Coordinator& coordinator);

/// Enrolls all nodes at once, on your word that no client can hold a lock on them yet. Without
/// this, a node without an enrolment casts no vote until max_ttl has passed. Changes nothing if a
/// node has an enrolment or a key of the library (Errc::misconfigured), or if all that is wrong is
/// that a node does not answer (Errc::no_quorum). With `force` the nodes that answer are enrolled
/// whatever they have. Blocking; not on the loop's thread.
QUORUMLOCK_EXPORT Result<void> enroll_new(const Coordinator& coordinator, bool force = false);

/// Deletes the fencing counters of resources that nobody will ever lock again. A resource that is
/// locked again afterwards gets smaller fencing tokens than before. Blocking, takes one round trip
/// for every 500 resources; not on the loop's thread. If a node refuses (Errc::misconfigured) or
/// does not answer (Errc::no_quorum), the counters are deleted on the others.
QUORUMLOCK_EXPORT Result<void> forget_counters(const Coordinator& coordinator,
                                               const std::vector<std::string>& resources);

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
QUORUMLOCK_EXPORT Result<LockList> list_locks(const Coordinator& coordinator,
                                              const LocksQuery& query = {});

// Changing the list of nodes while clients lock: docs/members.md has the steps.

namespace detail {
class MembersChanger;
}  // namespace detail

/// A node's part in a change of the list.
enum class MemberState {
  settled,      ///< it votes for its list, and no change is under way on it
  announced,    ///< it serves clients with either list
  unsettled,    ///< the new list is decided on it
  removed,      ///< it is not in the list that is decided
  fresh,        ///< it has no record of a list, and is not in the one that governs; named "new"
  waiting,      ///< it was restarted or is new, and does not vote yet
  behind,       ///< it has missed a step that others have made
  apart,        ///< it says what no other node says, and no step leads from there to the others'
                ///< state: MembersChange::commit() makes it forget that
  unreachable,  ///< it does not answer
};
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(MemberState state) noexcept;

/// One node of the list that governs, of the new list, or of both.
struct Member {
  std::string name;                              ///< the name that the nodes give it
  std::string node;                              ///< its URL, without user and password
  bool in_list = false;                          ///< whether it is in the list that governs
  bool in_new_list = false;                      ///< whether it is in the list of the options
  MemberState state = MemberState::unreachable;  ///< its part in the change
  std::optional<std::uint32_t> epoch;            ///< unset if the node has no list
  /// The connections to this node, by address, of clients that have another list than the new one,
  /// or name other terms. Unset if the node does not show them to this user.
  std::optional<std::vector<std::string>> old_clients;
  /// How many connected clients say that they may enrol this node. Unset: as above.
  std::optional<int> enrollers = std::nullopt;
};

/// How far a change of the list has come.
enum class MembersStage {
  agreed,     ///< the nodes vote for the new list
  differs,    ///< they vote for another list, and no change is under way
  announced,  ///< they serve clients with either list
  committed,  ///< the new list is decided, and is settled once older leases have ended
  other,      ///< a change to another list is under way
  unknown,    ///< no node that answers has a list
};
/// The name in the list above.
QUORUMLOCK_EXPORT std::string_view to_string(MembersStage stage) noexcept;

/// The nodes of one quorum group as a look found them.
struct MembersReport {
  std::string group;                           ///< empty if there are no groups
  MembersStage stage = MembersStage::unknown;  ///< how far the change has come
  std::optional<std::uint32_t> epoch;  ///< the epoch of the list that governs; unset: unknown
  std::vector<std::string> list;       ///< the list that governs, or did before the change
  std::vector<std::string> new_list;   ///< the list of the options
  /// The max_ttl of the list that governs, or did before the change; unset: unknown.
  std::optional<std::chrono::milliseconds> max_ttl = std::nullopt;
  /// The fencing_memory of that list; unset: unknown.
  std::optional<std::chrono::seconds> fencing_memory = std::nullopt;
  /// The max_ttl that the list of the options is to have: the one above unless they name another.
  std::optional<std::chrono::milliseconds> new_max_ttl = std::nullopt;
  /// The fencing_memory that the list of the options is to have; it stays unless they name another.
  std::optional<std::chrono::seconds> new_fencing_memory = std::nullopt;
  std::vector<Member> members;  ///< the nodes of both lists
  /// Whether every node of the new list has settled it.
  bool done = false;
  std::string next_step;  ///< what to do next, in plain words

  /// The addresses of clients that have another list than the new one, each once.
  [[nodiscard]] QUORUMLOCK_EXPORT std::vector<std::string> old_clients() const;
};

/// Takes the nodes from the list that they vote for to the list of the options, step by step. Any
/// step may be repeated, interrupted, or made by somebody else. All calls are blocking and must not
/// be made on a coordinator's loop.
///
/// Errc::misconfigured: the step is not safe, or could not be finished; Errc::no_quorum: too few
/// nodes take it; Errc::timed_out: it has to wait. The message says what to do first.
class QUORUMLOCK_EXPORT MembersChange {
 public:
  /// Connects to the nodes of `options`, which is the new list, and to those that leave. The latter
  /// are known by their names, host:port; `leaving` has URLs for those whose name is not enough.
  static Result<MembersChange> open(Options options, Nodes leaving = {});
  MembersChange(MembersChange&&) noexcept;
  MembersChange& operator=(MembersChange&&) noexcept;
  ~MembersChange();

  /// Looks at all nodes. Returns one report for each group whose nodes are configured.
  Result<std::vector<MembersReport>> look();
  /// Reads all fencing counters of all nodes, and finds those that some node has made up: no clock
  /// explains them, and too few other nodes have one as great. O(counters).
  std::vector<Finding> bad_counters();
  /// Says whether the change could be announced, and changes nothing.
  Result<void>(check)();
  /// Announces the new list: from now on nodes serve clients with either list.
  Result<void> announce();
  /// Decides the new list: from now on clients with the old list are refused. Unless forced it
  /// refuses while such clients are connected.
  Result<void> commit(bool force = false);
  /// Settles the new list if every lease of the old one has ended, so that new nodes may vote.
  /// Returns the time until it can; call it again then. Zero: enough nodes have settled it for a
  /// lock. One that did not answer is settled by a later call: MembersReport::done says whether all
  /// have.
  Result<std::chrono::nanoseconds> settle();
  /// Takes back a change that was announced and not committed.
  Result<void> withdraw();

 private:
  explicit MembersChange(std::unique_ptr<detail::MembersChanger> changer) noexcept;
  std::unique_ptr<detail::MembersChanger> changer_;
};

}  // namespace quorumlock
