#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/key_and_token.hpp"
#include "lock/lock.hpp"
#include "lock/round.hpp"
#include "lock/slots.hpp"
#include "lock/tag.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

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

/// How a lock is to be held: the checked LockOptions.
struct Terms {
  Duration ttl{};
  Duration stop_margin{};
  Duration max_hold = Duration::max();
  int max_renewals = -1;  ///< -1: no limit
  bool auto_extend = true;
  LockMode mode = LockMode::exclusive;
  [[nodiscard]] bool reads() const { return mode == LockMode::shared; }
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

/// The keys and entries of a claim that nodes may have.
struct Footprint {
  NodeSet nodes;           ///< the nodes on which a key, or the entry that leaves, may be ours
  int unanswered = 0;      ///< commands sent whose final answer has not arrived
  Time gone_at{};          ///< when the last write's ttl has passed: no node has a key of ours
  Duration longest_ttl{};  ///< the longest ttl of its rounds
};

/// The fencing side of a claim.
struct Fencing {
  std::uint64_t number = 0;  ///< acquiring: to exceed, then to agree on; held: the fencing token
  std::uint64_t noted = 0;   ///< the greatest fencing counter in the answers so far
  SlotId ballot;             ///< set while fences are being counted
};

/// The waiter of an attempt, as the line knows it (docs/architecture.md).
struct ClaimEntry {
  bool ordered = false;          ///< the acquisition respects the line
  bool leaves = false;           ///< the release of the claim takes the entry out of the line
  bool not_woken_reads = false;  ///< the waiter `not_woken` is a reader
  std::uint64_t place = 0;       ///< the waiter's number; zero: it has no entry
  std::uint64_t ticket = 0;
  std::uint64_t not_woken = 0;  ///< the waiter our release must not wake: the reply resumes it
  NodeSet nodes;                ///< the nodes on which the entry may be
};

/// A claim as a lease.
struct Held {
  UserId user = 0;   ///< set also if the user named the claim's token
  NodeSet standing;  ///< the nodes whose votes it relies on
  int renewals = 0;
  Time limit{};           ///< the acquisition's start + max_hold
  bool won = false;       ///< the claim is or was a lease: grants that come late belong to it
  bool told = false;      ///< AtRisk has asked the holder to stop
  bool goes_on = false;   ///< the holder has extended the lease after AtRisk
  bool detached = false;  ///< the keys run out by themselves at the end: delete nothing

  /// A renewal that the present round replaced before it was won, and the nodes that have answered
  /// it without holding the key. With that answer a node sets the key anew, and it grants the next
  /// round, so its answer would otherwise be forgotten.
  struct Replaced {
    std::uint16_t round;
    NodeSet gone;
  };
  std::optional<Replaced> replaced = {};
};

/// One owner token and its state. The fields that every answer needs come first: when many claims
/// have rounds out, handling an answer costs mostly the cache misses on them.
struct Claim {
  Phase phase = Phase::acquiring;
  bool asked_for = false;  ///< the user asked for the round: its verdict is to be reported
  bool by_token = false;   ///< the user named the token; no lease of ours belongs to it
  bool traced = false;     ///< an attempt whose acquisition has a trace
  Round round;
  Footprint footprint;
  WaiterId waiter;  ///< the waiter that the attempt is for, until it has its verdict
  Fencing fencing;
  ClaimEntry entry;
  Permit permit;
  KeyAndToken names;
  OtherKeys others;
  Terms terms;
  Time deadline{};        ///< valid_until of the acquisition, then of the last renewal that was won
  Time next_try = never;  ///< when to renew next, or to retry a release that was refused
  Held held;

  [[nodiscard]] std::string_view key() const { return names.key(); }
  [[nodiscard]] std::string_view token() const { return names.token(); }
};

}  // namespace quorumlock::core
