#pragma once

#include <string>

namespace quorumlock::cli {

/// The file that a shell would run for this name. Throws Failure with 127 where there is none and
/// with 126 where it cannot be executed.
std::string command_path(const std::string& name);

}  // namespace quorumlock::cli
