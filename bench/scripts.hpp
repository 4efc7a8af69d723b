#pragma once

namespace quorumlock::bench {

/// What the forms of script_forms() cost one server: for each form and round one JSON object a
/// line.
void print_scripts(int rounds);

/// Whether the forms that claim it answer as acquire.lua and release.lua do, and leave the same
/// behind. Times nothing.
bool check_scripts();

}  // namespace quorumlock::bench
