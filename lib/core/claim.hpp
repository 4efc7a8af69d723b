#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "core/slots.hpp"
#include "core/tally.hpp"
#include "core/types.hpp"

namespace quorumlock::core {

using ClaimId = SlotId;
using WaiterId = SlotId;
/// Whatever the driver wants to find its own object by.
using UserId = std::uintptr_t;

/// The keys of several locks that are taken as one, beside the first; null for a plain lock.
using OtherKeys = std::shared_ptr<const std::vector<std::string>>;

/// Calls fn with the first key, then with each of the others.
template <class F>
void each_key(std::string_view first, const OtherKeys& others, F&& fn) {
  fn(first);
  if (others == nullptr) return;
  for (const std::string& key : *others) fn(std::string_view(key));
}

/// What is asked of a node. The encoder knows how each is said to Redis. Up to `release` they are
/// of a claim.
enum class CommandKind : std::uint8_t {
  set,      ///< the key is set to the token with this ttl, where it is free
  acquire,  ///< as set, and the node's fencing counter grows, also past `fence`
  raise,    ///< the fencing counter grows to exactly `fence`, where the key holds the token
  renew,    ///< the key's expiry is moved to ttl from now, never earlier, where it holds the token;
            ///< where it is gone it is set anew if the Send says so
  release,  ///< the key is deleted, where it holds the token, and who is first in its line is woken
  queue,    ///< entries are put into the lines of their locks, or kept there
  query,    ///< something of the driver's own: not the engine's
  renewals,      ///< of the session's own: several renews as one command
  acquisitions,  ///< likewise, several acquires
  releases,      ///< likewise, several releases
  repair,        ///< of the session's own: see client::Repair
};

/// The round of a command that nobody counts: the clean-up's.
inline constexpr std::uint16_t uncounted = 0;

/// Travels with a command and comes back with its answer.
struct Tag {
  ClaimId claim;
  std::uint16_t round = 0;  ///< an answer counts only for the round that asked
  CommandKind kind = CommandKind::query;
  bool with_source = false;  ///< the script went out whole: NOSCRIPT is then an error
  /// An acquire that went out as commands of the server's own: see redis/native_acquire.hpp.
  bool native = false;
};

/// How a lock is to be held: the checked LockOptions.
struct Terms {
  Duration ttl{};
  Duration stop_margin{};
  Duration max_hold = Duration::max();
  int max_renewals = -1;  ///< -1: no limit
  bool auto_extend = true;
  bool shared = false;  ///< to read, together with others who read
  bool operator==(const Terms&) const = default;
};

/// Where an owner token is in its life. Every attempt, retry or lease has a token, and so a claim,
/// of its own: a release that is late then never hits its successor.
enum class Phase : std::uint8_t {
  acquiring,  ///< the first round is out; decided by its votes or by the deadline
  held,       ///< won: renewed until its limits, until it is released, or lost
  extending,  ///< one extend round of a token that some other process holds
  releasing,  ///< given up: deleted wherever it may be, then forgotten
};

/// One owner token and all that is known of it. What every answer needs comes first: where many
/// claims have rounds out, its time is the time to have that in the cache.
struct Claim {
  Phase phase = Phase::acquiring;
  bool round_open = false;  ///< the round's verdict is still out
  bool asked_for = false;   ///< the round is the user's: its verdict is to be reported
  bool told = false;        ///< the holder has been told to stop
  bool goes_on = false;     ///< and has extended it since
  bool by_token = false;    ///< the token is whoever's: no lease of ours stands behind it
  bool detached = false;    ///< let the keys run out at the end, delete nothing
  bool won = false;         ///< it has been a lease, to which grants that come late belong
  // Of one for a waiter in the line (docs/waiting.md), as are place and ticket.
  bool ordered = false;  ///< looks at the line
  bool leaves = false;   ///< its release takes the entry out of the line
  bool not_woken_reads = false;
  bool may_be_native = false;   ///< the counters are likely to be there, and equal
  bool native_refused = false;  ///< where the script may say otherwise
  std::uint16_t round = 0;
  int unanswered = 0;             ///< commands sent whose final answer is not in
  Tally tally;                    ///< of the current round
  WaiterId waiter;                ///< whom an acquisition is for, while it wants to know
  SlotId ballot;                  ///< while fences are being counted
  std::uint64_t fence_noted = 0;  ///< the greatest that its answers brought
  std::uint64_t not_woken = 0;    ///< by its release, since it is told otherwise
  Time keys_die{};         ///< by then no node has a key of ours: the last write's ttl has passed
  Duration longest_ttl{};  ///< of its rounds
  NodeSet may_hold;        ///< the nodes on which the key may be ours
  int capacity = 0;        ///< of the semaphore whose permit this is; zero: a lock

  Names names;
  [[nodiscard]] std::string_view key() const { return names.key(); }
  [[nodiscard]] std::string_view token() const { return names.token(); }
  OtherKeys others;
  Terms terms;
  std::uint64_t fence = 0;  ///< acquiring: to be exceeded, then agreed on; held: the fencing token
  Duration round_ttl{};
  Time round_start{};
  Time deadline{};    ///< valid_until: of the acquisition, then of the last renewal that was won
  Time hold_limit{};  ///< the acquisition's start + max_hold
  Time next_try = never;     ///< of the next renewal, or of a release that was refused
  Time frees_at = never;     ///< the earliest expiry of those who hold it instead, as far as known
  std::uint64_t place = 0;   ///< the waiter's number in the line; zero: it has no entry
  std::uint64_t ticket = 0;  ///< likewise
  UserId user = 0;           ///< the lease's, once it is held
  NodeSet standing;          ///< of a lease: the nodes whose votes it stands on
  NodeSet entered;           ///< the nodes on which the entry may be
  int renewals = 0;
  int slot = 0;  ///< which of a semaphore's permits
};

}  // namespace quorumlock::core
