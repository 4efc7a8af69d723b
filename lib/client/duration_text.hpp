#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <quorumlock/result.hpp>

namespace quorumlock::client {

/// Durations as users write them, in the JSON options and on the command line: a whole number and
/// a unit (us, ms, s, m, h) with nothing between or around them, such as "10s" or "1500ms".
/// `name` is the option that an error is about, such as "ttl" or "--ttl".
Result<std::chrono::nanoseconds> parse_duration(std::string_view name, std::string_view text);

/// As parse_duration, or "forever".
Result<std::chrono::nanoseconds> parse_wait(std::string_view name, std::string_view text);

/// The exact duration in the largest unit that it is whole in, so that parsing it gives it back
/// (apart from "ns", which is for messages only, and a negative one).
std::string to_text(std::chrono::nanoseconds duration);

}  // namespace quorumlock::client
