#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <quorumlock/error.hpp>

#include "core/claim.hpp"

// What goes into the engine with a call, and what comes out of it.
namespace quorumlock::core {

/// What the engine knows of the connection to a node.
enum class LinkState {
  connecting,   ///< the first connection is being made: commands wait in it, within its timeout
  up,           ///< takes commands
  stalled,      ///< an answer is overdue: asked nothing new, but told of releases, in order
  quarantined,  ///< its votes don't count: asked nothing, but told of releases
  down,         ///< not connected, or connected and refused: takes nothing
};

/// An acquisition to begin.
struct AcquireRequest {
  std::string_view key;
  Terms terms;
  /// When to give up; the time of the request for a single attempt.
  Time wait_until{};
  bool waits = false;
  UserId user = 0;
  /// Waits in the line, behind those who came before; else attempts follow each other.
  bool ordered = false;
  /// More keys: all of them are to be had, or none. Not the same one twice.
  std::span<const std::string> others = {};
  /// How many permits the semaphore with this key has, one of which is asked for; 0: a lock.
  int capacity = 0;
};

// What the driver must do. String views and Tally references hold until the next input.

/// Send this command, prepared once, to each of these nodes, behind all that went to it before.
struct Send {
  NodeSet to;
  Tag tag;
  std::string_view key;
  std::string_view token;
  Duration ttl{};
  std::uint64_t fence = 0;  ///< see CommandKind; for a renewal the fencing token
  bool replant = false;     ///< renew: set the key again where the node has lost it
  bool by_token = false;    ///< the holder is another; release: it must not re-plant it
  bool shared = false;      ///< acquire, renew: to read; `waiter` is named as one who reads
  bool ordered = false;     ///< acquire: only where nobody else is before `waiter` in the line
  bool fenced = true;       ///< acquire: with a fencing counter
  /// acquire: need not be a script. Where the nodes' own commands refuse, a script is asked.
  bool may_be_native = false;
  std::string_view process = {};  ///< names our waiters, with their numbers
  /// acquire: who has the entry, zero for none; release: whose entry goes, zero for none.
  std::uint64_t waiter = 0;
  std::uint64_t ticket = 0;     ///< acquire: the entry's
  std::uint64_t not_woken = 0;  ///< release: who need not be woken, zero for none
  bool not_woken_reads = false;
  Duration entry_life{};
  std::span<const std::string> others = {};  ///< of several locks at once: the keys beside `key`
  int capacity = 0;  ///< how many permits the semaphore has, whose `key` this is; 0: a lock
  int slot = 0;      ///< of those this one, from 1 on
};
/// One entry in the line of a lock. A waiter for several has one for each, one behind the other.
struct Entry {
  std::string_view key;
  std::uint64_t waiter;
  std::uint64_t ticket;
  bool shared = false;
};
/// CommandKind::queue: put all of these entries there, or keep them, in one command a node.
/// on_places() has the answers.
struct SendEntries {
  NodeSet to;
  Tag tag;
  std::string_view process;
  std::vector<Entry> entries;
  Duration life;
};
/// Nodes will publish messages: listen to those to this process (on_wake), for as long as the
/// engine lives, or about this lock's release (on_freed), until told otherwise.
struct Listen {
  std::string process;  ///< empty: about a lock
  std::string key = {};
  bool on = true;
};
/// An acquisition is won. Adopt the claim (Engine::adopt) and give the user a lease.
struct Acquired {
  UserId user;
  ClaimId claim;
  int attempts;
};
/// An acquisition has ended without a lease.
struct Refused {
  UserId user;
  Errc why;
  int attempts;
  Tally tally;
  /// Of which the semaphore is, where a vote says so: see Vote::capacity_differs.
  int capacity = 0;
};
/// The lease's end has moved. If the user has seen the old end pass: abandon().
struct Renewed {
  UserId user;
  ClaimId claim;
  Time valid_until;
};
/// The lease will end within its stop margin: tell the holder to stop.
struct AtRisk {
  UserId user;
};
/// The lease has ended without a release: expired or lost. The claim is no longer the user's.
struct Ended {
  UserId user;
  Errc why;
  Tally tally;
};
/// An extend that the user asked for is decided; `why` is unset where it was won.
struct Extended {
  UserId user;
  bool by_token;
  std::optional<Errc> why;
  Time valid_until;
  Tally tally;
};
/// A release that the user asked for is decided; `why` is unset where it is done.
struct Released {
  UserId user;
  bool by_token;
  std::optional<Errc> why;
  Tally tally;
};

/// A node's clock has stepped, or runs at a rate beyond the bound: by `size` since an earlier look.
/// Its votes are void until then. For the log and the status.
struct ClockJumped {
  int node;
  Duration size;
  Time until;
};

/// An entry as one node has it.
struct Place {
  /// 0: it is first; 1: behind one of this process; 2: behind another's; 3: farther behind.
  int before = 0;
  bool free = false;  ///< the lock is
  Duration due{};     ///< in which one of these may change by itself; not positive: unknown
  std::uint64_t greatest_ticket = 0;  ///< of the others in the line
  int slot = 0;                       ///< of a semaphore: which is free
};

using Output = std::variant<Send, SendEntries, Listen, Acquired, Refused, Renewed, AtRisk, Ended,
                            Extended, Released, ClockJumped>;

}  // namespace quorumlock::core
