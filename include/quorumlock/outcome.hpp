#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/detail/export.hpp>

namespace quorumlock {

/// What one node answered to one request of ours, or why it did not answer.
enum class Vote : std::uint8_t {
  pending,           ///< asked, no answer yet
  granted,           ///< answered: our key was set, renewed or deleted as asked
  held,              ///< answered: another token (or another kind of value) is under the key
  absent,            ///< answered: no key is there, or not ours (renew, release)
  timed_out,         ///< no answer within node_timeout; the command may yet run
  disconnected,      ///< the connection broke before the answer; the command may have run
  unreachable,       ///< not connected, nothing was sent
  stalled,           ///< an earlier command is overdue on this node, nothing was sent
  no_script,         ///< NOSCRIPT: not executed, sent again with the script's source
  loading,           ///< LOADING or MASTERDOWN: not executed
  busy,              ///< BUSY: a script blocks the node, not executed
  refuses_writes,    ///< OOM, MISCONF, NOREPLICAS, READONLY, or a command that it does not know
  unauthorized,      ///< NOAUTH, WRONGPASS, NOPERM: not executed
  not_standalone,    ///< the node is a replica or runs in cluster mode, its vote never counts
  quarantined,       ///< the node's vote does not count yet: it may have forgotten locks, or its
                     ///< list may be ours, by the name of a node that was not reached
  not_enrolled,      ///< the node has just turned out to have forgotten; nothing was touched
  max_ttl_differs,   ///< the node has been enrolled with another max_ttl
  same_server,       ///< two of the configured addresses are this one server
  clock_jumped,      ///< the node's clock steps or runs beyond drift_factor: its vote is void
  capacity_differs,  ///< the semaphore has another capacity on the node, and permits are held
  groups_differ,     ///< the node has been enrolled for other quorum groups than ours
  terms_differ,      ///< the node has been enrolled with another fencing_memory
  nodes_differ,      ///< the node votes for another list of nodes than ours
  tls_failed,        ///< no secure connection can be made; the node's detail says why
  failed,            ///< any other error reply; the command may have run (new votes come after it)
  bad_counter,       ///< the node's fencing counter, or its floor for counters, is one that no
                     ///< clock explains: what this node says of the lock does not count
};

/// The vote's name in the list above, such as "timed_out": for JSON, metrics and programs.
QUORUMLOCK_EXPORT std::string_view to_string(Vote vote) noexcept;
/// The vote in words for a sentence, such as "held by another".
QUORUMLOCK_EXPORT std::string_view describe(Vote vote) noexcept;

/// One node's part of an Outcome.
struct NodeVote {
  std::string node;           ///< its address as configured, without user and password
  Vote vote = Vote::pending;  ///< its answer, or why there was none
  std::string detail;         ///< the node's own words, if it gave any
  bool operator==(const NodeVote&) const = default;
};

/// The kind of one step of an acquisition.
enum class TraceKind : std::uint8_t {
  begun,       ///< the loop has begun to handle the call
  queued,      ///< it waits in this process: `count` acquisitions are to be sent before it
  sent,        ///< an attempt was sent to `count` nodes
  connecting,  ///< the attempt waits for the connection to `node`
  connected,   ///< the connection to `node` is ready
  voted,       ///< `vote` is the answer of `node` to the attempt, or why there is none
  raising,     ///< `node` was asked to raise its fencing counter, since the counters differed
  raised,      ///< `vote` is the answer of `node` to that
  entered,     ///< it entered the line on `count` nodes
  placed,    ///< `node` reports `count` waiters before it (2: two or more) and, in `vote`, whether
             ///< the lock is held or absent
  woken,     ///< `node` reports that the lock has been released, and that it may try
  pausing,   ///< it waits until it tries again
  lost,      ///< the attempt has failed
  won,       ///< the lock is held; the last step
  refused,   ///< the acquisition has failed; the last step
  left_out,  ///< `count` steps were left out here
};
/// The kind's name in the list above, such as "connecting".
QUORUMLOCK_EXPORT std::string_view to_string(TraceKind kind) noexcept;

/// One step of an acquisition.
struct TraceStep {
  TraceKind kind = TraceKind::begun;  ///< the kind of step
  std::chrono::nanoseconds at{};      ///< the time since the call
  int attempt = 0;                    ///< the number of the attempt, from 1 on
  std::string node = {};      ///< see NodeVote::node; empty if the step is not about a single node
  Vote vote = Vote::pending;  ///< see the kind
  std::uint64_t count = 0;    ///< see the kind
  bool operator==(const TraceStep&) const = default;
};

/// The votes of all nodes: one entry for each configured node, in the order of Options::nodes.
struct QUORUMLOCK_EXPORT Outcome {
  std::vector<NodeVote> votes = {};  ///< one for each node
  int quorum = 0;                    ///< votes needed: floor(N / 2) + 1 of the N configured nodes
  int attempts = 0;                  ///< rounds tried until this outcome, this one included
  /// If LockOptions::trace was set: the steps of the acquisition, in their order. Of a long wait
  /// the first 64 and at least the last 127 are kept.
  std::vector<TraceStep> trace = {};

  /// How many nodes gave this vote.
  [[nodiscard]] int count(Vote vote) const noexcept;
  /// For example "2 granted, 3 held; quorum 3 of 5; attempt 4". O(nodes).
  [[nodiscard]] std::string to_string() const;
  /// The trace as a table for a terminal, one line a step with its time, and a last line that says
  /// where the time went. Empty without a trace. O(steps).
  [[nodiscard]] std::string timeline() const;
  bool operator==(const Outcome&) const = default;
};

}  // namespace quorumlock
