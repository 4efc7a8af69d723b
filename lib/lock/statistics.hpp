#pragma once

#include <quorumlock/result.hpp>
#include <quorumlock/stats.hpp>

#include "lock/acquisition.hpp"

// Counts events in plain integers.
namespace quorumlock::core {

/// Counts an acquisition that is won, also in its class if that is not null.
void note_win(Stats& stats, ClassStats* its_class, Time now, const Claim& claim,
              const Acquisition& acquisition);
/// Counts an acquisition that has ended without a lease.
void note_refusal(Stats& stats, ClassStats* its_class, Time now, const Acquisition& acquisition,
                  Errc why);
/// Counts a renewal; to be called before the claim's deadline is moved. Returns whether the renewal
/// has succeeded with less than a tenth of the ttl left.
bool note_renewal(Stats& stats, Time now, const Claim& claim, bool won);

}  // namespace quorumlock::core
