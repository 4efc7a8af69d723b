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
/// The driver's handle for its own object; the engine only passes it back.
using UserId = std::uintptr_t;

/// The keys after the first of several locks that are taken as one; null for a plain lock.
using OtherKeys = std::shared_ptr<const std::vector<std::string>>;

/// Calls fn with the first key, then with each of the others.
template <class F>
void each_key(std::string_view first, const OtherKeys& others, F&& fn) {
  fn(first);
  if (others == nullptr) return;
  for (const std::string& key : *others) fn(std::string_view(key));
}

/// What a node is asked to do; the encoder turns each kind into Redis commands. The kinds up to
/// `release` belong to a claim.
enum class CommandKind : std::uint8_t {
  set,       ///< if the key is free, sets it to the token with this ttl
  acquire,   ///< as set, and the node's fencing counter grows past its old value and `fence`
  raise,     ///< if the key holds the token, raises the fencing counter to exactly `fence`
  renew,     ///< if the key holds the token, moves its expiry to ttl from now, never earlier; if
             ///< the key is gone, sets it anew if Send::replant says so
  release,   ///< if the key holds the token, deletes it and wakes the head of its line
  queue,     ///< puts entries into the lines of their locks, or keeps them there
  query,     ///< a command of the driver, not of the engine
  renewals,  ///< a command of the session: several renews in one
  acquisitions,  ///< a command of the session: several acquires in one
  releases,      ///< a command of the session: several releases in one
  repair,        ///< a command of the session: see detail::Repair
  clock,         ///< a command of the session: reads the node's clock
};

/// The round number of a clean-up command, whose answers are not counted.
inline constexpr std::uint16_t uncounted = 0;

/// Identifies a command: the driver hands it back with the answer.
struct Tag {
  ClaimId claim;
  std::uint16_t round = 0;  ///< an answer counts only for the round that asked
  CommandKind kind = CommandKind::query;
  bool with_source = false;  ///< the script went out whole: NOSCRIPT is then an error
  bool again = false;        ///< a renewal, sent once more to a node that found it too late
};

/// How a lock is to be held: the checked LockOptions.
struct Terms {
  Duration ttl{};
  Duration stop_margin{};
  Duration max_hold = Duration::max();
  int max_renewals = -1;  ///< -1: no limit
  bool auto_extend = true;
  bool shared = false;  ///< held to read, together with other readers
  bool operator==(const Terms&) const = default;
};

/// The stage of an owner token's life. Every attempt and retry has a token, and so a claim, of its
/// own, so that a late release never hits its successor.
enum class Phase : std::uint8_t {
  acquiring,  ///< the first round is out; decided by its votes or by the deadline
  held,       ///< won: renewed until its limits, until it is released, or lost
  extending,  ///< one extend round of a token that another process may hold
  releasing,  ///< given up: its keys are deleted wherever they may be, then it is forgotten
};

/// One owner token and its state. The fields that every answer needs come first: when many claims
/// have rounds out, handling an answer costs mostly the cache misses on them.
struct Claim {
  Phase phase = Phase::acquiring;
  bool round_open = false;  ///< the round has no verdict yet
  bool asked_for = false;   ///< the user asked for the round: its verdict is to be reported
  bool told = false;        ///< AtRisk has asked the holder to stop
  bool goes_on = false;     ///< the holder has extended the lease after AtRisk
  bool by_token = false;    ///< the user named the token; no lease of ours belongs to it
  bool detached = false;    ///< the keys run out by themselves at the end: delete nothing
  bool won = false;         ///< the claim was or is a lease: grants that come late belong to it
  // For a waiter in the line (docs/waiting.md), as are place and ticket.
  bool ordered = false;  ///< the acquisition respects the line
  bool leaves = false;   ///< its release takes the entry out of the line
  bool not_woken_reads = false;
  std::uint16_t round = 0;
  int unanswered = 0;             ///< commands sent whose final answer has not arrived
  Tally tally;                    ///< votes of the current round
  WaiterId waiter;                ///< the waiter that the attempt is for, until it has its verdict
  SlotId ballot;                  ///< set while fences are being counted
  std::uint64_t fence_noted = 0;  ///< the greatest fencing counter in the answers so far
  std::uint64_t not_woken = 0;    ///< waiter our release must not wake: the reply resumes it
  Time keys_die{};         ///< when the last write's ttl has passed: no node has a key of ours
  Duration longest_ttl{};  ///< the longest ttl of its rounds
  NodeSet may_hold;        ///< the nodes on which the key may be ours
  int capacity = 0;        ///< permits of the semaphore; zero: a lock

  Names names;
  [[nodiscard]] std::string_view key() const { return names.key(); }
  [[nodiscard]] std::string_view token() const { return names.token(); }
  OtherKeys others;
  Terms terms;
  std::uint64_t fence = 0;  ///< acquiring: number to exceed, then to agree on; held: fencing token
  Duration round_ttl{};
  Time round_start{};
  Time deadline{};        ///< valid_until of the acquisition, then of the last renewal that was won
  Time hold_limit{};      ///< the acquisition's start + max_hold
  Time next_try = never;  ///< when to renew next, or to retry a release that was refused
  Time frees_at = never;  ///< the earliest known expiry of another holder's key
  std::uint64_t place = 0;   ///< the waiter's number in the line; zero: it has no entry
  std::uint64_t ticket = 0;  ///< the waiter's ticket in the line
  UserId user = 0;           ///< the lease's user, once it is held
  NodeSet standing;          ///< lease: the nodes whose votes it relies on
  NodeSet entered;           ///< the nodes on which the waiter's entry may be
  int renewals = 0;
  int slot = 0;  ///< the number of a semaphore's permit
};

}  // namespace quorumlock::core
