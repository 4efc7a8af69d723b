#pragma once

#include <quorumlock/options.hpp>
#include <quorumlock/status.hpp>

#include "globals.hpp"
#include "signals.hpp"

namespace quorumlock::cli {

/// Waits until every node may vote, enrols the nodes that have waited long enough, and reports the
/// progress. Returns the status of the nodes then. Throws Failure if a node can never be enrolled,
/// or if a signal comes first.
ClusterStatus wait_for_votes(const Globals& globals, Options options, Signals& signals);

}  // namespace quorumlock::cli
