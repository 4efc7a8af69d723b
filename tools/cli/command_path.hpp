#pragma once

#include <string>

namespace quorumlock::cli {

/// Returns the file that a shell would run for this name. Throws Failure with 127 if there is none
/// and with 126 if it cannot be executed.
std::string command_path(const std::string& name);

}  // namespace quorumlock::cli
