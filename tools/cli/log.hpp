#pragma once

#include <string>
#include <string_view>

#include <quorumlock/event.hpp>

// What the program writes to standard error about its work: a sentence a line, or with
// --log-format json one JSON object a line.
namespace quorumlock::cli {

enum class LogFormat { text, json };
/// Sets the format of all lines from now on, which is text at first. Must be called before any
/// thread is started.
void set_log_format(LogFormat format);
LogFormat log_format();

/// Writes a sentence of the program's own. In JSON it is the `reason`, and `event` is one word for
/// programs; `resource` may be empty.
void log_sentence(EventLevel level, std::string_view event, std::string_view sentence,
                  const std::string& resource = {});
/// Writes an event of the library as JSON: on the loop's thread, and so without waiting for a
/// reader that is slow. Events that it had no room for are counted in the next one's `left_out`.
void log_event(const quorumlock::Event& event);

}  // namespace quorumlock::cli
