#pragma once

#include <string_view>

#include "redis/scripts.hpp"

namespace quorumlock::sim {

/// Null if the library has no script with this hash or source.
const redis::Script* script_by_sha(std::string_view sha1);
const redis::Script* script_by_source(std::string_view source);

}  // namespace quorumlock::sim
