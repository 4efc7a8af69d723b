#pragma once

#include <quorumlock/error.hpp>
#include <quorumlock/stats.hpp>

#include "core/types.hpp"

// Counts events in plain integers.
namespace quorumlock::core {

void add_to(DurationStats& stats, Duration duration);
void count_refusal(Stats& stats, Errc why);

}  // namespace quorumlock::core
