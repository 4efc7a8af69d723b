#pragma once

#include <string>

#include "sim/script_run.hpp"

/// What the Lua of the scripts for several locks does, in C++.
namespace quorumlock::sim {

std::string acquire_all(ScriptRun& run);
std::string raise_all(ScriptRun& run);
std::string renew_all(ScriptRun& run);
std::string release_all(ScriptRun& run);

}  // namespace quorumlock::sim
