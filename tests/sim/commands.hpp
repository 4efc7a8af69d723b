#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/database.hpp"
#include "sim/journal.hpp"
#include "sim/requests.hpp"

namespace quorumlock::sim {

class Connections;

/// One database at one instant of its server's wall clock: a command, or a whole script, runs at a
/// single instant.
struct Moment {
  Database* keys = nullptr;
  std::int64_t now_us = 0;
  Connections* connections = nullptr;  ///< the connections that may get a message
  Journal* journal = nullptr;          ///< null: nobody wants to know what is written
  [[nodiscard]] std::int64_t now_ms() const { return now_us / 1000; }
};

/// The properties of a command that Redis checks before it runs the command.
struct Command {
  enum Flag : unsigned {
    writes = 1,
    grows = 2,          ///< refused when out of memory
    while_loading = 4,  ///< runs while the server loads its data
    without_auth = 8,   ///< runs before AUTH, also while a script keeps the server busy
    says_health = 16,   ///< refused with every write if the data cannot be persisted
    subcommands = 32,   ///< the second word belongs to the name
  };
  std::string_view name;  ///< in lower case; "client|id"
  int arity;              ///< the number of words; negative: the least number
  unsigned flags;
  /// Executes the command and returns its reply as RESP. Null for a command that is about the
  /// server rather than its data.
  std::string (*run)(const Moment&, Arguments);

  [[nodiscard]] bool is(Flag flag) const { return (flags & flag) != 0; }
};

/// Returns the command of these words. If the command is unknown, or the number of words is wrong,
/// returns null and sets `error` to Redis's error.
const Command* find_command(Arguments words, std::string& error);

}  // namespace quorumlock::sim
