#pragma once

#include <string>

#include <quorumlock/stats.hpp>

#include "config/node_list.hpp"
#include "lock/types.hpp"

namespace quorumlock::detail {

/// Sets the age of the oldest acquisition, which began at `since`; `never`: there is none.
void set_oldest_wait(Stats& stats, core::Time since, core::Time now);
/// Replaces the nodes by number, as an engine counts them, by those of this list, with their names.
void name_nodes(Stats& stats, const NodeList& list, const std::string& group);
/// Adds the counts of `more` to `into`.
void add(Stats& into, const Stats& more);

}  // namespace quorumlock::detail
