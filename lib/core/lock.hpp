#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <quorumlock/options.hpp>

namespace quorumlock::core {

/// The kinds of lock. redis/verbs/kinds.cpp has the calls of each.
enum class LockKind : std::uint8_t {
  one,       ///< one lock, held to write
  shared,    ///< one lock, held to read, together with other readers
  all,       ///< several locks, held all or none, to write or to read
  permit,    ///< one permit of a semaphore
  by_token,  ///< one lock, named with a token that another client may hold, to write or to read
};

/// The kind of a lock that is asked for in this mode; the only place that decides it. A new mode
/// has to say here which kind it is.
constexpr LockKind kind_of(LockMode mode, bool several, bool of_semaphore, bool by_token = false) {
  if (several) return LockKind::all;
  if (of_semaphore) return LockKind::permit;
  if (by_token) return LockKind::by_token;
  switch (mode) {
    case LockMode::exclusive: return LockKind::one;
    case LockMode::shared: return LockKind::shared;
  }
  return LockKind::one;
}

/// A permit of a semaphore, by its number from 1 on. Capacity 0: no permit, but a lock.
struct Permit {
  int capacity = 0;
  int slot = 0;
};

/// The locks that a command is about, as one.
struct LockSet {
  std::string_view first;                    ///< the lock's key, or the semaphore's
  std::span<const std::string> others = {};  ///< the keys after `first`
  LockMode mode = LockMode::exclusive;
  bool by_token = false;
  Permit permit = {};

  [[nodiscard]] LockKind kind() const {
    return kind_of(mode, !others.empty(), permit.capacity != 0, by_token);
  }
};

/// One of our waiters, with its entry in a line. Number 0: none.
struct LinePlace {
  std::string_view process = {};  ///< prefix of our waiters' names, before their numbers
  std::uint64_t number = 0;
  std::uint64_t ticket = 0;
  bool reads = false;           ///< the waiter wants to read
  std::string_view label = {};  ///< the label in our owner tokens; empty: none
};

}  // namespace quorumlock::core
