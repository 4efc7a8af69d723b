#pragma once

#include <string>
#include <vector>

#include "chaos/checker.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// The run in one sentence.
std::string verdict(const History& history, const std::vector<Violation>& violations);
/// The time since the beginning of the run: "12.345 s".
std::string seconds_into(const History& history, Time time);
/// For how much of the run exclusion was demanded, in seconds.
double demanded_seconds(const History& history);

}  // namespace quorumlock::chaos
