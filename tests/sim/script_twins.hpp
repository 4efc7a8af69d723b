#pragma once

#include <string>

#include "sim/script_run.hpp"

/// What the Lua of those scripts does that are not in scripts.cpp. Each gives the reply as RESP.
namespace quorumlock::sim {

// line_scripts.cpp
std::string queue(ScriptRun& run);
std::string release(ScriptRun& run);
std::string release_token(ScriptRun& run);

// shared_scripts.cpp
std::string acquire_shared(ScriptRun& run);
std::string renew_shared(ScriptRun& run);

}  // namespace quorumlock::sim
