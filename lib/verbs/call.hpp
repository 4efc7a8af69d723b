#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lock/output.hpp"
#include "verbs/scripts.hpp"

// How a verb says which words its scripts take: as data, one row for each kind of lock.
namespace quorumlock::redis {

/// The parts of a command that do not follow from the engine's Send.
struct Surroundings {
  std::int64_t wall_us = 0;  ///< the client's wall clock, in us since 1970
  core::Duration max_ttl{};  ///< the longest ttl of all clients
};

/// A word of a script's call, by its meaning. Times are in ms if nothing else is said.
enum class Word : std::uint8_t {
  none,      ///< ends a list that is shorter than its array
  locks,     ///< the key of each lock, or the semaphore's
  counters,  ///< the key of the fencing counter of each of these
  held,      ///< the key of each lock, or of a permit's slot
  token,
  ttl,
  fence,
  wall,        ///< the client's wall clock, in us
  fenced,      ///< 1 with fencing, else 0
  waiter,      ///< the name of the waiter in Send::place; empty for none
  ticket,      ///< the ticket of its entry
  entry_life,  ///< how long the entry lives
  not_woken,   ///< the name of the waiter in Send::not_woken; empty for none
  mode,        ///< w to write, r to read, t to write by the token alone
  slot,        ///< of a permit; 0 for a lock
  capacity,
  replant,  ///< 1 to set anew what is gone, else 0
  left,     ///< Send::left, in us
  barred,   ///< how long nothing may set anew what is released; 0: it may be set at once
};

/// The keys and the arguments of a script's call.
struct Call {
  constexpr Call(const Script* which, std::array<Word, 2> key_words, std::array<Word, 12> arg_words)
      : script(which), keys(key_words), args(arg_words) {
    for (const Word word : keys) {
      if (word != Word::none) ++key_count;
    }
    for (const Word word : args) arg_count += word == Word::none ? 0 : 1;
  }
  const Script* script;
  std::array<Word, 2> keys;
  std::array<Word, 12> args;
  std::size_t key_count = 0;  ///< the number of keys of each lock
  std::size_t arg_count = 0;
};

/// Appends a script's call, by hash or (Tag::with_source) in full, without own_words().
void append_call(std::string& out, const Call& call, const core::Send& send,
                 const Surroundings& around);

/// The words of the locks of a batch, as RESP; `of_each` is which words a lock has.
struct LockWords {
  void add(const Call& of_each, const core::Send& send);
  void clear() {
    keys.clear();
    args.clear();
    count = 0;
  }
  std::string keys, args;
  std::size_t count = 0;
};

/// Appends one call of a script for these locks, which it handles one after another: the keys and
/// arguments of `common`, each followed by the locks'. `first` stands for what they have in common.
void append_call(std::string& out, const Call& common, const Call& of_each, const LockWords& locks,
                 const core::Send& first, const Surroundings& around);

constexpr bool is_renewal(core::CommandKind kind) {
  return kind == core::CommandKind::renew || kind == core::CommandKind::renewals;
}
/// Whether the node checks that it is still enrolled before it runs the command.
constexpr bool says_enrolment(core::CommandKind kind) {
  using core::CommandKind;
  return kind == CommandKind::acquire || kind == CommandKind::raise || is_renewal(kind) ||
         kind == CommandKind::acquisitions || kind == CommandKind::once;
}
/// The number of the node's own words, which end a command: for a renewal the node's time in us
/// from which on it is too late (0: unknown), which the session appends; then, if says_enrolment()
/// is true for it, the node's enrolment, its floor, how long a counter lives there after its last
/// write, and how long an absent one has not been written at the least, which the link appends.
constexpr std::size_t own_words(core::CommandKind kind) {
  return is_renewal(kind) ? 5 : says_enrolment(kind) ? 4 : 0;
}

}  // namespace quorumlock::redis
