#include "output.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>

#include "log.hpp"

namespace quorumlock::cli {
namespace {

void write(const std::string& text, std::FILE* to) {
  if (std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0) return;
  throw Failure::system(to == stdout ? "cannot write to standard output"
                                     : "cannot write to standard error");
}

/// Returns each line printable. Whoever put a text from outside into a line made it printable
/// before: a line that such a text breaks in two cannot be told from two lines.
std::string in_printable_lines(std::string_view text) {
  std::string lines;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    lines += printable(text.substr(0, end)) + '\n';
  }
  return lines + printable(text);
}

/// What begins a line in this colour, and is bold.
const char* begin_of(Colour colour) {
  switch (colour) {
    case Colour::green: return "\x1b[1;32m";
    case Colour::yellow: return "\x1b[1;33m";
    case Colour::red: return "\x1b[1;31m";
  }
  return "";
}

struct Line {
  std::string text;
  std::size_t width;  ///< as it is shown
};

/// Adds the printable lines of a text, each between the same two words.
void add_lines(std::vector<Line>& lines, const std::string& text, std::size_t width,
               const char* begin, const char* end) {
  std::istringstream from(wrapped(in_printable_lines(text), width));
  for (std::string line; std::getline(from, line);) {
    lines.push_back({begin + line + end, width_of(line)});
  }
}

std::vector<Line> lines_of(const View& view, const Screen& screen) {
  std::vector<Line> lines;
  add_lines(lines, view.headline, screen.width, screen.colours ? begin_of(view.colour) : "",
            screen.colours ? "\x1b[0m" : "");
  add_lines(lines, view.text, screen.width, "", "");
  return lines;
}

}  // namespace

std::string text_of(const Json& document) {
  // In JSON the escapes of printable() are these characters again.
  return printable(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print(const std::string& text, std::FILE* to) {
  write(in_printable_lines(text) + "\n", to);
}

void print(const Json& document, std::FILE* to) {
  write(text_of(document) + "\n", to);
}

const char* to_string(Colour colour) {
  switch (colour) {
    case Colour::green: return "green";
    case Colour::yellow: return "yellow";
    case Colour::red: return "red";
  }
  return "unknown";
}

void print(const View& view, const Screen& screen) {
  std::string text;
  for (const Line& line : lines_of(view, screen)) text += line.text + '\n';
  write(text, stdout);
}

void draw(const View& view, const Screen& screen) {
  constexpr const char* home = "\x1b[H";
  constexpr const char* to_the_next_line = "\x1b[K\n";
  constexpr const char* clear_below = "\x1b[J";
  const std::vector<Line> lines = lines_of(view, screen);
  std::string drawn = home;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const bool is_last = i + 1 == lines.size();
    // A line that is longer than the terminal is wide takes several of its rows.
    rows += screen.columns == unlimited || line.width == 0
                ? 1
                : (line.width + screen.columns - 1) / screen.columns;
    // The cursor stays in the row below the last line, so that nothing scrolls.
    if (screen.rows != unlimited && rows + (is_last ? 1 : 2) > screen.rows) {
      drawn += "... " + std::to_string(lines.size() - i) + " more lines" + to_the_next_line;
      break;
    }
    drawn += line.text + to_the_next_line;
  }
  write(drawn + clear_below, stdout);
}

std::string in_words(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " and " : ", ";
    text += printable(names[i]);
  }
  return text;
}

std::string roughly(std::chrono::milliseconds span) {
  if (span < std::chrono::seconds(1)) return to_text(span);
  if (span < std::chrono::seconds(10)) {
    const auto tenths = span.count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "s";
  }
  constexpr std::pair<std::int64_t, char> units[] = {
      {86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}};
  const std::int64_t seconds = span.count() / 1'000;
  const auto* unit = std::begin(units);
  while (seconds < unit->first) ++unit;
  std::string text = std::to_string(seconds / unit->first) + unit->second;
  if (const auto* const next = unit + 1; next != std::end(units)) {
    text += ' ' + std::to_string(seconds % unit->first / next->first) + next->second;
  }
  return text;
}

Json votes_json(const Outcome& outcome) {
  Json votes = Json::array();
  for (const NodeVote& vote : outcome.votes) {
    Json one = {{"node", vote.node}, {"vote", to_string(vote.vote)}};
    if (!vote.detail.empty()) one["detail"] = vote.detail;
    votes.push_back(std::move(one));
  }
  return votes;
}

Json trace_json(const Outcome& outcome) {
  Json trace = Json::array();
  for (const TraceStep& step : outcome.trace) {
    Json one = {{"at_us", std::chrono::floor<std::chrono::microseconds>(step.at).count()},
                {"what", to_string(step.kind)},
                {"attempt", step.attempt}};
    if (!step.node.empty()) one["node"] = step.node;
    if (step.vote != Vote::pending) one["vote"] = to_string(step.vote);
    if (step.count != 0) one["count"] = step.count;
    trace.push_back(std::move(one));
  }
  return trace;
}

void print_timeline(const Outcome& outcome) {
  if (outcome.trace.empty()) return;
  const std::string timeline = outcome.timeline();
  if (log_format() == LogFormat::json) {
    log_sentence(EventLevel::info, "timeline", timeline);
  } else {
    std::fprintf(stderr, "%s\n", in_printable_lines(timeline).c_str());
  }
}

Json error_json(const Failure& failure) {
  Json error = {{"code", failure.code()},
                {"message", printable(failure.what())},
                {"exit_code", failure.exit_code()}};
  if (const Outcome& outcome = failure.outcome(); !outcome.votes.empty()) {
    error["quorum"] = outcome.quorum;
    error["attempts"] = outcome.attempts;
    error["votes"] = votes_json(outcome);
  }
  if (!failure.outcome().trace.empty()) error["trace"] = trace_json(failure.outcome());
  return {{"error", std::move(error)}};
}

}  // namespace quorumlock::cli
