#pragma once

#include <string>
#include <string_view>

#include "redis/scripts.hpp"
#include "sim/script_run.hpp"

namespace quorumlock::sim {

/// A script of the library's, and what its Lua does, in C++. Gives the reply as RESP.
struct KnownScript {
  const redis::Script* script;
  std::string (*run)(ScriptRun& run);
};

/// Null where the library has no script of this name.
const KnownScript* script_by_sha(std::string_view sha1);
const KnownScript* script_by_source(std::string_view source);

}  // namespace quorumlock::sim
