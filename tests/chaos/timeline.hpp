#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "chaos/checker.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// The time that one line of the timeline shows.
inline constexpr Clock::duration slice_length = std::chrono::seconds(10);

/// The line that shows this moment.
std::size_t slice_of(const History& history, Time time);

/// The colour of a worker, for CSS.
std::string colour_of(int worker);

/// Draws the page's timeline: one SVG for each slice of time, each with the id "sliceN".
void draw_timeline(std::ostream& out, const History& history,
                   const std::vector<Violation>& violations);

/// Escapes text to stand between tags.
std::string escaped(const std::string& text);

}  // namespace quorumlock::chaos
