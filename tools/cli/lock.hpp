#pragma once

#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

#include "meanwhile.hpp"
#include "signals.hpp"

namespace quorumlock::cli {

/// Locks all of the resources, waiting as the options say. SIGINT, SIGTERM, SIGHUP or SIGQUIT ends
/// the wait, and nothing stays locked. Throws Failure.
Lease take_lock(Coordinator& coordinator, const std::vector<std::string>& resources,
                const LockOptions& options, Signals& signals,
                const Meanwhile& meanwhile = never_again);

/// Takes one of the `permits` permits of the resource, in the same way.
Lease take_permit(Coordinator& coordinator, const std::string& resource, int permits,
                  const LockOptions& options, Signals& signals,
                  const Meanwhile& meanwhile = never_again);

}  // namespace quorumlock::cli
