#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <quorumlock/result.hpp>

#include "lock/claim.hpp"
#include "lock/lock.hpp"
#include "lock/trace.hpp"

// The engine's inputs and outputs.
namespace quorumlock::core {

/// The state of the connection to a node, as far as the engine needs it.
enum class LinkState {
  connecting,   ///< the first connection is being made: commands wait for it, within its timeout
  up,           ///< takes commands
  stalled,      ///< an answer is overdue: gets no new requests, only releases, in order
  quarantined,  ///< its votes do not count: gets no requests, only releases
  down,         ///< not connected, or connected and refused: takes nothing
};

/// An acquisition to begin.
struct AcquireRequest {
  std::string_view key;
  Terms terms;
  /// When to give up; for a single attempt the time of the request.
  Time wait_until{};
  bool waits = false;
  UserId user = 0;
  /// Waits in the line, after those that came before; else waits unordered and keeps retrying.
  bool ordered = false;
  /// More keys, to be acquired all or none. No key twice.
  std::span<const std::string> others = {};
  /// Permits of the semaphore with this key, one of which is requested; 0: a lock.
  int capacity = 0;
  /// Gets the steps of the acquisition. It has to live until Acquired or Refused; null: none
  /// wanted.
  Trace* trace = nullptr;
};

// Outputs: what the driver must do. String views are valid until the next input.

/// Send this command, encoded once, to each of these nodes, after everything sent to it before.
struct Send {
  NodeSet to;
  Tag tag;
  LockSet lock;
  std::string_view token;
  Time begun{};              ///< when the first command of the round was sent
  Duration ttl{};            ///< how long the keys live that the command leaves
  std::uint64_t fence = 0;   ///< see CommandKind; for a renewal the fencing token
  LinePlace place = {};      ///< acquire: the waiter's entry; release: the entry that goes
  LinePlace not_woken = {};  ///< release: the waiter that need not be woken
  Duration entry_life{};     ///< acquire: how long the entry of `place` lives
  bool ordered = false;      ///< acquire: only if no other waiter is before `place` in the line
  bool fenced = true;        ///< acquire: with a fencing counter
  bool replant = false;      ///< renew: set the key again if the node has lost it
  /// renew: how long the validity to prolong still lasts on the node's clock, however slow that is
  /// within the bound. The node ignores a renewal that comes later (see Engine::clock_of).
  Duration left{};
};
/// One entry in the line of a lock. A waiter for several locks has consecutive entries, one each.
struct Entry {
  std::string_view key;
  std::uint64_t waiter;
  std::uint64_t ticket;
  bool shared = false;
};
/// CommandKind::queue: put all of these entries in their lines, or keep them there, with one
/// command for each node. on_places() takes the answers.
struct SendEntries {
  NodeSet to;
  Tag tag;
  std::string_view process;
  std::vector<Entry> entries;
  Duration life;
  std::string_view label = {};  ///< the label in our owner tokens; empty: none
};
/// Nodes will publish messages for this process: listen to them (on_wake) for as long as the engine
/// lives.
struct Listen {
  std::string process;
};
/// An acquisition is won. Adopt the claim (Engine::adopt) and give the user a lease.
struct Acquired {
  UserId user;
  ClaimId claim;
  int attempts;
};
/// Why an acquisition was never sent to any node.
struct Unsent {
  std::uint64_t before = 0;  ///< how many were before it in the queue, see Admission::before()
  Duration waited{};         ///< how long it has been in the queue
  std::size_t renewals = 0;  ///< of leases, which go first
  NodeSet full = {};         ///< nodes that have as much under way as they answer in time
};
/// An acquisition has ended without a lease.
struct Refused {
  UserId user;
  Errc why;
  int attempts;
  Tally tally;
  /// The semaphore's capacity, if a node reported another than ours: see Vote::capacity_differs.
  int capacity = 0;
  /// The owner token of the client that has the lock, if the nodes agree on one; else empty.
  std::string holder = {};
  Time held_since = never;            ///< roughly; `never` if that is not known
  std::optional<Time> expiry = {};    ///< of the lock, if that is known; `never` if it has none
  std::optional<Unsent> unsent = {};  ///< set if the acquisition was never sent to any node
};
/// The lease's end has moved. If the user has already seen the old end pass, call abandon().
struct Renewed {
  UserId user;
  ClaimId claim;
  Time valid_until;
  bool late = false;  ///< less than a tenth of the ttl was left
};
/// The lease will end within its stop margin: ask the holder to stop.
struct AtRisk {
  UserId user;
};
/// The lease has ended without a release: expired or lost. The claim is no longer the user's.
struct Ended {
  UserId user;
  Errc why;
  Tally tally;
};
/// An extend that the user asked for is decided; `why` is unset if it succeeded.
struct Extended {
  UserId user;
  bool by_token;
  std::optional<Errc> why;
  Time valid_until;
  Tally tally;
};
/// A release that the user asked for is decided; `why` is unset if it succeeded.
struct Released {
  UserId user;
  bool by_token;
  std::optional<Errc> why;
  Tally tally;
};

/// A node's clock has stepped, or runs at a rate beyond the bound, by `size` since an earlier
/// sample. Its votes are void until `until`. For the log and the status.
struct ClockJumped {
  int node;
  Duration size;
  Time until;
};

/// Our own clock has stood still, or lost time: the nodes `ahead` are ahead of it, the last one
/// sampled by `size` or more. Every lease ends, and the nodes `trusted`, mistrusted only for being
/// ahead, are trusted again. For the log and the status.
struct ClockStood {
  NodeSet ahead;
  NodeSet trusted;
  Duration size;
};

/// The place of an entry in its line, as one node reports it.
struct Place {
  /// The waiters before it. 0: none; 1: one of this process; 2: one of another process; 3: several.
  int before = 0;
  bool free = false;  ///< the lock is free
  Duration due{};     ///< time until `before` or `free` may change by itself; not positive: unknown
  std::uint64_t greatest_ticket = 0;  ///< the greatest ticket of other entries in the line
  int slot = 0;                       ///< semaphore: the number of a free slot
  /// The owner token of the lock's holder; empty: free, held by several, or not known. Valid until
  /// the next input.
  std::string_view holder = {};
};

using Output = std::variant<Send, SendEntries, Listen, Acquired, Refused, Renewed, AtRisk, Ended,
                            Extended, Released, ClockJumped, ClockStood>;

}  // namespace quorumlock::core
