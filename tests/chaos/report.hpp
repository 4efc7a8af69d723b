#pragma once

#include <string>

#include "chaos/history.hpp"

namespace quorumlock::chaos {

// A worker's report of an acquisition that ended without a lock.
inline constexpr const char* was_refused = "refused";
inline constexpr const char* was_refused_for_its_nodes = "refused for its nodes";

/// A line of JSON in which a worker reports the state of one of its leases; the last one counts.
std::string to_line(const Holding& holding);
/// Throws std::runtime_error if to_line() did not make the line.
Holding holding_of(const std::string& line);

}  // namespace quorumlock::chaos
