#include "output.hpp"

#include <algorithm>
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

void print_over_the_last(const std::string& text) {
  constexpr const char* home = "\x1b[H";
  constexpr const char* clear_line = "\x1b[K";
  constexpr const char* clear_below = "\x1b[J";
  std::string drawn = home;
  for (const char letter : in_printable_lines(text)) {
    if (letter == '\n') drawn += clear_line;
    drawn += letter;
  }
  write(drawn + clear_line + clear_below + "\n", stdout);
}

std::size_t width_of(std::string_view text) {
  const auto begins_character = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;  // the others go on with one
  };
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string padded(std::string text, std::size_t width) {
  text.append(width - std::min(width, width_of(text)), ' ');
  return text;
}

std::string in_columns(std::vector<Row> rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (Row& row : rows) {
    for (std::string& word : row) word = printable(word);
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i + 1 < row.size() ? padded(row[i], widths[i] + 2) : row[i];
    }
    text += '\n';
  }
  return text;
}

std::string roughly(std::chrono::milliseconds span) {
  if (span < std::chrono::seconds(10)) return to_text(span);
  return to_text(std::chrono::floor<std::chrono::seconds>(span));
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
