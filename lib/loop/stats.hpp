#pragma once

#include <quorumlock/stats.hpp>

#include "core/types.hpp"

namespace quorumlock::detail {

/// Sets the age of the oldest acquisition, which began at `since`; `never`: there is none.
void set_oldest_wait(Stats& stats, core::Time since, core::Time now);
/// Adds the counts of `more` to `into`.
void add(Stats& into, const Stats& more);

}  // namespace quorumlock::detail
