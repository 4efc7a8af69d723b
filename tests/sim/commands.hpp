#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/database.hpp"
#include "sim/requests.hpp"

namespace quorumlock::sim {

/// One database at one instant of its server's wall clock: a command, and all of a script, sees
/// one.
struct Moment {
  Database* keys = nullptr;
  std::int64_t now_us = 0;
  /// Hands a message to those who listen to a channel; how many they were.
  const std::function<int(const std::string& channel, const std::string& message)>* publish =
      nullptr;
  [[nodiscard]] std::int64_t now_ms() const { return now_us / 1000; }
};

/// What Redis knows of a command before it runs it.
struct Command {
  enum Flag : unsigned {
    writes = 1,
    grows = 2,          ///< refused when out of memory
    while_loading = 4,  ///< runs while the server loads its data
    without_auth = 8,   ///< runs, also while a script keeps the server busy, before AUTH
    says_health = 16,   ///< refused with every write where the data cannot be persisted
    subcommands = 32,   ///< the second word belongs to the name
    later = 64,         ///< redis-server 7.0 does not have it
  };
  std::string_view name;  ///< in lower case; "client|id"
  int arity;              ///< words; negative: at least so many
  unsigned flags;
  /// Null for those that are about the server and not about its data.
  std::string (*run)(const Moment&, const Words&);

  [[nodiscard]] bool is(Flag flag) const { return (flags & flag) != 0; }
};

/// The command of these words, or null. On failure `error` says what Redis would: that it does not
/// know it, or that the number of words is wrong. `also` is one that later servers have.
const Command* find_command(const Words& words, std::string& error, std::string_view also = {});

}  // namespace quorumlock::sim
