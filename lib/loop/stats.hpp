#pragma once

#include <quorumlock/stats.hpp>

namespace quorumlock::detail {

/// Adds the counts of `more` to `into`.
void add(Stats& into, const Stats& more);

}  // namespace quorumlock::detail
