#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/commands.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

/// The errors with which the server refuses commands now; empty: it does not refuse them.
struct Refusals {
  std::string_view write;   ///< for every write
  std::string_view growth;  ///< for commands that need memory, before the script's first write
};

/// Runs a script of the library as a Redis server does, and returns its reply as RESP. Throws
/// std::logic_error if the script itself fails, or calls a command that the simulated server does
/// not have.
///
/// Each thread has one Lua state, which keeps the compiled scripts and serves every server: a
/// script cannot leave anything in it. Applies the mistake that is planted in scripts, if any
/// (sim/script_mutants.hpp).
std::string run_script(const redis::Script& script, const Moment& moment,
                       std::span<const std::string> keys, std::span<const std::string> args,
                       Refusals refusals);

}  // namespace quorumlock::sim
