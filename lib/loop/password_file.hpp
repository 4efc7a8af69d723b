#pragma once

#include <string>

#include <quorumlock/result.hpp>

#include "wire/login.hpp"

namespace quorumlock::detail {

/// Reads a file that has a password and nothing else; the end of its line, if there is one, does
/// not belong to it. Blocks for as long as the file system does. The error is a clause about the
/// node.
Result<redis::Secret> read_password(const std::string& path);

}  // namespace quorumlock::detail
