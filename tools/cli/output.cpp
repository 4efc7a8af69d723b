#include "output.hpp"

#include <algorithm>

#include <quorumlock/duration.hpp>

#include "log.hpp"

namespace quorumlock::cli {

void print(const std::string& text, std::FILE* to) {
  const std::string line = text + "\n";
  if (std::fwrite(line.data(), 1, line.size(), to) == line.size() && std::fflush(to) == 0) return;
  throw Failure::system(to == stdout ? "cannot write to standard output"
                                     : "cannot write to standard error");
}

void print(const Json& document, std::FILE* to) {
  print(document.dump(-1, ' ', false, Json::error_handler_t::replace), to);
}

std::string in_columns(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size() + 2, ' ');
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
    std::fprintf(stderr, "%s\n", timeline.c_str());
  }
}

Json error_json(const Failure& failure) {
  Json error = {
      {"code", failure.code()}, {"message", failure.what()}, {"exit_code", failure.exit_code()}};
  if (const Outcome& outcome = failure.outcome(); !outcome.votes.empty()) {
    error["quorum"] = outcome.quorum;
    error["attempts"] = outcome.attempts;
    error["votes"] = votes_json(outcome);
  }
  if (!failure.outcome().trace.empty()) error["trace"] = trace_json(failure.outcome());
  return {{"error", std::move(error)}};
}

}  // namespace quorumlock::cli
