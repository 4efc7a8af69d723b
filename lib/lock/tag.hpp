#pragma once

#include <cstdint>

#include "lock/slots.hpp"

// The names of commands, by which their answers find them.
namespace quorumlock::core {

using ClaimId = SlotId;

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
  once,      ///< one of the driver that votes, at the holder's fence: see detail::OnceQuery
  renewals,  ///< a command of the session: several renews in one
  acquisitions,  ///< a command of the session: several acquires in one
  releases,      ///< a command of the session: several releases in one
  repair,        ///< a command of the session: see detail::Repair
  clock,         ///< a command of the session: reads the node's clock
  witness,       ///< a command of the session: reads it for another node's candidate
};

/// Whether this command creates the key.
constexpr bool sets_key(CommandKind kind) {
  return kind == CommandKind::set || kind == CommandKind::acquire;
}

/// Whether this command asks a node for its votes. The others are looks at it, in which an error is
/// an answer like any other.
constexpr bool asks_for_votes(CommandKind kind) {
  return kind != CommandKind::query && kind != CommandKind::repair && kind != CommandKind::clock &&
         kind != CommandKind::witness;
}

/// The round number of a clean-up command, whose answers are not counted.
inline constexpr std::uint16_t uncounted = 0;

/// Identifies a command: the driver hands it back with the answer.
struct Tag {
  ClaimId claim;
  std::uint16_t round = 0;  ///< an answer counts only for the round that asked
  CommandKind kind = CommandKind::query;
  bool with_source = false;  ///< the script went out whole: NOSCRIPT is then an error
  std::uint8_t again = 0;    ///< how often it was sent again: see Engine::repeats
};

}  // namespace quorumlock::core
