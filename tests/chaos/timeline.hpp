#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "chaos/checker.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// A line of the timeline is so long.
inline constexpr Clock::duration slice_length = std::chrono::seconds(10);

/// Which line shows this moment.
std::size_t slice_of(const History& history, Time time);

/// The colour of a worker, for CSS.
std::string colour_of(int worker);

/// The page's drawings: one SVG for each slice of time, each with the id "sliceN".
void draw_timeline(std::ostream& out, const History& history,
                   const std::vector<Violation>& violations);

/// For text between tags.
std::string escaped(const std::string& text);

}  // namespace quorumlock::chaos
