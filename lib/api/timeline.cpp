#include "api/timeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace quorumlock::detail {
namespace {

using std::chrono::nanoseconds;

std::string in_ms(nanoseconds span, const char* format = "%.2f ms") {
  char text[32];
  std::snprintf(text, sizeof text, format, std::chrono::duration<double, std::milli>(span).count());
  return text;
}

/// Writes a time with three significant digits or more, in ms below a second.
std::string span_text(nanoseconds span) {
  using namespace std::chrono_literals;
  return span < 1s ? in_ms(span, span < 10ms ? "%.2f ms" : "%.1f ms")
                   : in_ms(span / 1000, "%.2f s");
}

/// Where the time between two steps went.
enum class Part { client, connecting, voting, raising, line, pausing, left_out };
constexpr std::array<std::string_view, 7> part_names = {
    "in this process",          "connecting",          "waiting for votes",
    "raising fencing counters", "waiting in the line", "pausing between attempts",
    "in steps left out"};

/// Sums up the time by its parts, from one step to the next.
class Parts {
 public:
  explicit Parts(int quorum) : quorum_(quorum) {}

  void take(const TraceStep& step) {
    spent_[static_cast<std::size_t>(part_)] += step.at - last_;
    last_ = step.at;
    switch (step.kind) {
      case TraceKind::sent:
        ready_ = static_cast<int>(step.count);
        part_ = Part::voting;
        break;
      case TraceKind::connecting:
        if (--ready_ < quorum_) part_ = Part::connecting;
        break;
      case TraceKind::connected:
        if (++ready_ >= quorum_ && part_ == Part::connecting) part_ = Part::voting;
        break;
      case TraceKind::raising: part_ = Part::raising; break;
      case TraceKind::entered:
        in_line_ = true;
        part_ = Part::line;
        break;
      case TraceKind::lost: part_ = in_line_ ? Part::line : Part::pausing; break;
      case TraceKind::pausing: part_ = Part::pausing; break;
      case TraceKind::left_out: part_ = Part::left_out; break;
      default: break;
    }
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < spent_.size(); ++i) {
      if (spent_[i] == nanoseconds::zero()) continue;
      text += (text.empty() ? "" : ", ") + std::string(part_names[i]) + " " + span_text(spent_[i]);
    }
    return text.empty() ? "no time passed" : text;
  }

 private:
  int quorum_;
  int ready_ = 0;  ///< nodes that were sent the attempt and are connected
  bool in_line_ = false;
  Part part_ = Part::client;
  nanoseconds last_{};
  std::array<nanoseconds, part_names.size()> spent_{};
};

/// The words for a step, without the time that a node took.
std::string words_for(const TraceStep& step) {
  const std::string count = std::to_string(step.count);
  const bool free = step.vote == Vote::absent;
  switch (step.kind) {
    case TraceKind::begun: return "taken up by the loop";
    case TraceKind::queued: return "queued in this process, " + count + " before it";
    case TraceKind::sent:
      return "attempt " + std::to_string(step.attempt) + " sent to " + count + " nodes";
    case TraceKind::connecting: return "connecting";
    case TraceKind::connected: return "connected";
    case TraceKind::voted: return std::string(describe(step.vote));
    case TraceKind::raising: return "asked to raise its fencing counter";
    case TraceKind::raised:
      if (step.vote == Vote::granted) return "counter raised";
      if (step.vote == Vote::held) return "counter is as high already";
      return std::string(describe(step.vote));
    case TraceKind::entered: return "entered the line on " + count + " nodes";
    case TraceKind::placed:
      if (step.count == 0) return free ? "first in the line, free" : "first in the line, held";
      return step.count == 1 ? "one waiter before it" : "several waiters before it";
    case TraceKind::woken: return "released: may try";
    case TraceKind::pausing: return "pauses before the next attempt";
    case TraceKind::lost: return "attempt " + std::to_string(step.attempt) + " failed";
    case TraceKind::won: return "won";
    case TraceKind::refused: return "refused";
    case TraceKind::left_out: return count + " steps left out";
  }
  return "unknown";
}

/// The rows of the table. A node's answer has a bar from when the node was asked, or connected.
class Table {
 public:
  explicit Table(nanoseconds total)
      : total_(total), time_width_(std::max<std::size_t>(in_ms(total).size(), 10)) {}

  /// Adds a row for the step. `connecting` is the number of nodes that an attempt waits for.
  void add(const TraceStep& step, std::size_t connecting) {
    std::string words = step.node + (step.node.empty() ? "" : "  ") + words_for(step);
    if (connecting != 0) words += ", " + std::to_string(connecting) + " still connecting";
    const nanoseconds from = asked(step);
    if (from < step.at) words += ", " + span_text(step.at - from);
    const std::string time = in_ms(step.at);
    text_.append(time_width_ - std::min(time.size(), time_width_), ' ');
    text_ += time + " |" + bar(from, step.at) + "| " + words + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t width = 24;

  /// When the node was asked the question that this step answers; the step's own time if the step
  /// is no answer.
  nanoseconds asked(const TraceStep& step) {
    switch (step.kind) {
      case TraceKind::raising: since_[step.node] = step.at; return step.at;
      case TraceKind::sent:
      case TraceKind::entered:
        asked_at_ = step.at;
        since_.clear();
        return step.at;
      case TraceKind::connected:
      case TraceKind::placed: {  // a node is asked for its place again and again
        const bool first = since_.emplace(step.node, step.at).second;
        return first && asked_at_ ? *asked_at_ : step.at;
      }
      case TraceKind::voted:
      case TraceKind::raised: {
        const auto since = since_.find(step.node);
        return since != since_.end() ? since->second : asked_at_.value_or(step.at);
      }
      default: return step.at;
    }
  }
  [[nodiscard]] std::string bar(nanoseconds from, nanoseconds to) const {
    const std::size_t end = column(to);
    std::string bar(width, ' ');
    for (std::size_t i = column(from); i <= end; ++i) bar[i] = from < to ? '=' : '*';
    return bar;
  }
  [[nodiscard]] std::size_t column(nanoseconds at) const {
    if (total_ <= nanoseconds::zero()) return 0;
    const double share = std::chrono::duration<double>(at) / total_;
    return std::min(width - 1, static_cast<std::size_t>(share * (width - 1)));
  }

  nanoseconds total_;
  std::size_t time_width_;
  std::optional<nanoseconds> asked_at_;       ///< when all nodes were last asked
  std::map<std::string, nanoseconds> since_;  ///< when a node was ready to answer, if later
  std::string text_;
};

}  // namespace

std::string timeline_of(const Outcome& outcome) {
  const std::vector<TraceStep>& trace = outcome.trace;
  if (trace.empty()) return {};
  const TraceStep& last = trace.back();
  Parts parts(outcome.quorum);
  Table table(last.at);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    parts.take(trace[i]);
    if (trace[i].kind == TraceKind::connecting) continue;  // counted in the row of the attempt
    std::size_t after = i + 1;
    while (after < trace.size() && trace[after].kind == TraceKind::connecting) ++after;
    table.add(trace[i], after - i - 1);
  }
  return words_for(last) + " after " + span_text(last.at) +
         ", attempts: " + std::to_string(last.attempt) + "\n" + table.text() +
         "time: " + parts.text();
}

}  // namespace quorumlock::detail
