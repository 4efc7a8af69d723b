#pragma once

#include <string>

#include "lock/output.hpp"

namespace quorumlock::detail {

/// Why an acquisition got no lock, in our words; empty if the error code's message is enough. It
/// names the holder, and for how long it has had the lock, if the nodes agree on that.
std::string why_no_lock(const core::Refused& refused, core::Time now);
/// Why an acquisition on this number of nodes was not sent in time, such as "it waited for 502 ms,
/// with 35 others before it".
std::string why_unsent(const core::Unsent& unsent, int nodes);
/// The same as why_no_lock() for a permit of a semaphore with this capacity.
std::string why_no_permit(const core::Refused& refused, int capacity);

}  // namespace quorumlock::detail
