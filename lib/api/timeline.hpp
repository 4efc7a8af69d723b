#pragma once

#include <string>

#include <quorumlock/outcome.hpp>

namespace quorumlock::detail {

/// See Outcome::timeline().
std::string timeline_of(const Outcome& outcome);

}  // namespace quorumlock::detail
