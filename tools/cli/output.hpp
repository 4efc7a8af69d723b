#pragma once

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace quorumlock::cli {

/// JSON whose members keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// Writes and flushes a text and an end of line. Throws Failure if that fails: a token that could
/// not be printed is not a success.
/// Each of its lines is made printable().
void print(const std::string& text, std::FILE* to = stdout);
/// Prints the text over what the terminal shows, without the flicker of clearing it first.
void print_over_the_last(const std::string& text);
/// Writes a document on one line. Bytes that are not UTF-8 are replaced, and what could steer a
/// terminal is escaped.
std::string text_of(const Json& document);
/// Prints text_of() a document.
void print(const Json& document, std::FILE* to = stdout);

using Row = std::vector<std::string>;
/// Returns a printable text with spaces after it, so that it has at least this many characters.
std::string padded(std::string text, std::size_t width);
/// How many characters a printable text has.
std::size_t width_of(std::string_view text);
/// Returns a line for each row, with columns as wide as their widest word. Words are made
/// printable().
std::string in_columns(std::vector<Row> rows);
/// Writes whole seconds, or ms below ten seconds.
std::string roughly(std::chrono::milliseconds span);

/// Returns [{"node": ..., "vote": ..., "detail": ...}, ...]
Json votes_json(const Outcome& outcome);
/// Returns [{"at_us": ..., "what": ..., "attempt": ..., ...}, ...], one object a step.
Json trace_json(const Outcome& outcome);
/// Writes the timeline to standard error if the acquisition was traced. If nobody can read it, that
/// is not a failure.
void print_timeline(const Outcome& outcome);
/// Returns {"error": {"code": ..., "message": ..., "exit_code": ..., ...}}
Json error_json(const Failure& failure);

}  // namespace quorumlock::cli
