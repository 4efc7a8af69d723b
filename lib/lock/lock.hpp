#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <quorumlock/options.hpp>

namespace quorumlock::core {

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

  /// Whether this is one lock that we hold to write. Commands for such locks go out together
  /// (redis::Batch); there is one form for all others.
  [[nodiscard]] bool is_plain() const {
    return others.empty() && permit.capacity == 0 && !by_token && mode == LockMode::exclusive;
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
