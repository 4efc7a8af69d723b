#pragma once

#include <string>

#include "sim/script_run.hpp"

/// What the Lua of the scripts for semaphores does, in C++.
namespace quorumlock::sim::lua {

std::string acquire_permit(ScriptRun& run);
std::string renew_permit(ScriptRun& run);
std::string release_permit(ScriptRun& run);

/// Which slot of the semaphore with this key is free, 0 for none; `due`: the ms until
/// one is.
int free_slot(ScriptRun& run, const std::string& key, double& due);

}  // namespace quorumlock::sim::lua
