#pragma once

#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>

#include "notifier.hpp"
#include "signals.hpp"

namespace quorumlock::cli {

/// Locks all of the resources, waiting as the options say. SIGINT, SIGTERM, SIGHUP or SIGQUIT ends
/// the wait, and nothing stays locked. `manager`, if given, hears that this program is alive.
/// Throws Failure.
Lease take_lock(Coordinator& coordinator, const std::vector<std::string>& resources,
                const LockOptions& options, Signals& signals, Notifier* manager = nullptr);

/// Takes one of the `permits` permits of the resource, in the same way.
Lease take_permit(Coordinator& coordinator, const std::string& resource, int permits,
                  const LockOptions& options, Signals& signals, Notifier* manager = nullptr);

}  // namespace quorumlock::cli
