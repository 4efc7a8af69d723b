#pragma once

#include <quorumlock/stats.hpp>

namespace quorumlock::client {

/// What two have done together.
void add(Stats& into, const Stats& more);

}  // namespace quorumlock::client
