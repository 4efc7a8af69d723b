#pragma once

#include <string>

#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// A line in which a worker tells the state of one of its leases; the last one counts. JSON.
std::string to_line(const Holding& holding);
/// Throws std::runtime_error where the line is none of to_line's.
Holding holding_of(const std::string& line);

}  // namespace quorumlock::chaos
