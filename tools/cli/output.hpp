#pragma once

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "screen.hpp"
#include "table.hpp"

namespace quorumlock::cli {

/// JSON whose members keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// Writes and flushes a text and an end of line. Throws Failure if that fails: a token that could
/// not be printed is not a success.
/// Each of its lines is made printable().
void print(const std::string& text, std::FILE* to = stdout);

/// green: all is well. yellow: locks can be had, and something endangers them. red: they cannot.
enum class Colour { green, yellow, red };
/// The name in the list above.
const char* to_string(Colour colour);

/// A text for a terminal, below a headline in a colour. Both are wrapped at the terminal's width.
struct View {
  Colour colour = Colour::green;
  std::string headline = {};  ///< may be empty
  std::string text = {};
};
/// Prints it as print() does.
void print(const View& view, const Screen& screen);
/// Draws it over what the terminal shows, without the flicker of clearing that first. If it does
/// not fit, its last line says how many lines are missing.
void draw(const View& view, const Screen& screen);

/// Writes a document on one line. Bytes that are not UTF-8 are replaced, and what could steer a
/// terminal is escaped.
std::string text_of(const Json& document);
/// Prints text_of() a document.
void print(const Json& document, std::FILE* to = stdout);

/// Writes "a, b and c", each printable.
std::string in_words(const std::vector<std::string>& names);
/// Writes two units, such as "59m 53s"; below a minute whole seconds, below ten of them a tenth,
/// and below one ms.
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
