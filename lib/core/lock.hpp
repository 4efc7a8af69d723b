#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quorumlock::core {

/// The kinds of lock. A command's words and the meaning of its reply depend on the kind: each verb
/// in redis/verbs has a row for each kind that it knows.
enum class LockKind : std::uint8_t {
  one,       ///< one lock, held to write
  shared,    ///< one lock, held to read, together with other readers
  all,       ///< several locks, held all or none, to write or to read
  permit,    ///< one permit of a semaphore
  by_token,  ///< one lock, named with a token that another client may hold, to write or to read
};

/// A permit of a semaphore, by its number from 1 on. Capacity 0: no permit, but a lock.
struct Permit {
  int capacity = 0;
  int slot = 0;
};

/// The locks that a command is about, as one.
struct LockSet {
  std::string_view first;                    ///< the lock's key, or the semaphore's
  std::span<const std::string> others = {};  ///< the keys after `first`
  bool shared = false;                       ///< to read
  bool by_token = false;
  Permit permit = {};

  /// The only place that tells the kinds apart.
  [[nodiscard]] LockKind kind() const {
    if (!others.empty()) return LockKind::all;
    if (permit.capacity != 0) return LockKind::permit;
    if (by_token) return LockKind::by_token;
    return shared ? LockKind::shared : LockKind::one;
  }
};

/// One of our waiters, with its entry in a line. Number 0: none.
struct LinePlace {
  std::string_view process = {};  ///< prefix of our waiters' names, before their numbers
  std::uint64_t number = 0;
  std::uint64_t ticket = 0;
  bool reads = false;  ///< the waiter wants to read
};

}  // namespace quorumlock::core
