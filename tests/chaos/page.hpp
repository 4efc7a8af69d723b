#pragma once

#include <string>
#include <vector>

#include "chaos/checker.hpp"
#include "chaos/fault.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// The run as one self-contained HTML page: the verdict, what it means, and a timeline.
std::string page_of(const History& history, const std::vector<Violation>& violations,
                    const Faults& faults);

}  // namespace quorumlock::chaos
