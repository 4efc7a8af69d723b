#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <quorumlock/export.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

/// Reads a duration as users write it in the JSON options and on the command line: a whole number
/// and a unit (us, ms, s, m, h, d) with nothing between or around them, such as "10s" or "1500ms".
/// `name` is the option that an error is about, such as "ttl" or "--ttl".
QUORUMLOCK_EXPORT Result<std::chrono::nanoseconds> parse_duration(std::string_view name,
                                                                  std::string_view text);

/// Reads a duration as parse_duration() does, or "forever", which gives quorumlock::forever.
QUORUMLOCK_EXPORT Result<std::chrono::nanoseconds> parse_wait(std::string_view name,
                                                              std::string_view text);

/// Writes the exact duration in the largest unit in which it is a whole number. parse_duration()
/// reads it back, unless it is negative or not a whole number of microseconds ("ns" is for messages
/// only).
QUORUMLOCK_EXPORT std::string to_text(std::chrono::nanoseconds duration);

}  // namespace quorumlock
