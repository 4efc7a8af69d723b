#include "chaos/timeline.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace quorumlock::chaos {
namespace {

constexpr double left = 96;  ///< width of the names of the rows
constexpr double width = 1100;
constexpr double axis = 14;
constexpr double resource_row = 34;
constexpr double bar = 17;
constexpr double band_row = 11;
constexpr double gap = 6;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string seconds(const History& history, Time time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f",
                std::chrono::duration<double>(time - history.begin).count());
  return text;
}

/// Ranks of each resource's tokens: 1, 2, 3 ... are easy for a person to compare.
using Ranks = std::map<std::string, std::map<std::uint64_t, std::size_t>>;

Ranks ranks_of(const History& history) {
  Ranks ranks;
  for (const Holding& each : history.holdings) ranks[each.resource][each.token] = 0;
  for (auto& [resource, tokens] : ranks) {
    std::size_t rank = 0;
    for (auto& [token, place] : tokens) place = ++rank;
  }
  return ranks;
}

/// Draws everything that reaches into one slice of time.
class Slice {
 public:
  Slice(std::ostream& out, const History& history, const Ranks& ranks, std::size_t index)
      : out_(out),
        history_(history),
        ranks_(ranks),
        begin_(history.begin + slice_length * static_cast<int>(index)),
        end_(begin_ + slice_length) {}

  void draw(const std::vector<Violation>& violations) {
    const double nodes_top = axis + resource_row * static_cast<double>(history_.resources.size());
    const double workers_top = nodes_top + gap + band_row * history_.nodes;
    const double height = workers_top + gap + band_row * history_.workers;
    out_ << "<svg viewBox=\"0 0 " << number(left + width) << ' ' << number(height) << "\">\n";
    draw_axis(height);
    draw_excused(nodes_top);
    draw_names(nodes_top + gap, workers_top + gap);
    for (const Holding& each : history_.holdings) draw_holding(each);
    for (const Write& each : history_.writes) draw_write(each);
    for (const Overlap& each : overlaps(history_)) draw_overlap(each);
    for (const FaultSpan& each : history_.faults) {
      draw_fault(each, each.of_worker ? workers_top + gap : nodes_top + gap);
    }
    for (const Violation& each : violations) draw_violation(each, height);
    out_ << "</svg>\n";
  }

 private:
  [[nodiscard]] bool shows(Time from, Time to) const { return from < end_ && to >= begin_; }
  [[nodiscard]] double x(Time time) const {
    const auto into = std::chrono::duration<double>(std::clamp(time, begin_, end_) - begin_);
    return left + width * into / std::chrono::duration<double>(slice_length);
  }
  /// The y of the resource's row; negative if there is no such resource.
  [[nodiscard]] double row_of(const std::string& resource) const {
    const auto found = std::ranges::find(history_.resources, resource);
    if (found == history_.resources.end()) return -1;
    return axis + resource_row * static_cast<double>(found - history_.resources.begin());
  }
  [[nodiscard]] std::string rank_of(const std::string& resource, std::uint64_t token) const {
    const auto tokens = ranks_.find(resource);
    if (tokens == ranks_.end() || !tokens->second.contains(token)) return "?";
    return std::to_string(tokens->second.at(token));
  }

  void rectangle(const char* css, double from, double to, double top, double height,
                 const std::string& more = "") {
    out_ << "<rect class=\"" << css << "\" x=\"" << number(from) << "\" y=\"" << number(top)
         << "\" width=\"" << number(std::max(to - from, 1.5)) << "\" height=\"" << number(height)
         << "\"" << more << ">";
  }
  void text(const char* css, double at, double base, const std::string& words) {
    out_ << "<text class=\"" << css << "\" x=\"" << number(at) << "\" y=\"" << number(base) << "\">"
         << escaped(words) << "</text>\n";
  }

  void draw_axis(double height) {
    for (int second = 0; second < 10; ++second) {
      const Time time = begin_ + std::chrono::seconds(second);
      out_ << "<path class=\"grid\" d=\"M" << number(x(time)) << " 10V" << number(height) << "\"/>";
      const auto since = std::chrono::duration_cast<std::chrono::seconds>(time - history_.begin);
      text("time", x(time) + 2, 9, std::to_string(since.count()) + " s");
    }
  }

  void draw_excused(double bottom) {
    for (const Span& span : excused(history_)) {
      if (!shows(span.begin, span.end)) continue;
      rectangle("excused", x(span.begin), x(span.end), axis, bottom - axis);
      out_ << "<title>a fault beyond Redlock's assumptions: two may believe here, and the store "
              "has to see to it</title></rect>\n";
    }
  }

  void draw_names(double nodes_top, double workers_top) {
    for (const std::string& resource : history_.resources) {
      text("name", 0, row_of(resource) + 13, resource);
    }
    for (int node = 0; node < history_.nodes; ++node) {
      text("name", 0, nodes_top + band_row * node + 9, "server " + std::to_string(node + 1));
    }
    for (int worker = 0; worker < history_.workers; ++worker) {
      const double top = workers_top + band_row * worker;
      rectangle("holding", 0, 7, top + 2, 7, " fill=\"" + colour_of(worker) + "\"");
      out_ << "</rect>";
      text("name", 11, top + 9, "worker " + std::to_string(worker + 1));
    }
  }

  void draw_holding(const Holding& each) {
    const double row = row_of(each.resource);
    if (row < 0) return;
    const double top = row + 2;
    const Time until = each.end();
    // A path from the end of a lease to the first look of a worker that was frozen meanwhile.
    if (each.ending == Ending::over && each.noticed > until && shows(until, each.noticed)) {
      out_ << "<path class=\"unaware\" stroke=\"" << colour_of(each.worker) << "\" d=\"M"
           << number(x(until)) << ' ' << number(top + 9) << "H" << number(x(each.noticed))
           << "\"/>";
    }
    if (until <= each.begin || !shows(each.begin, until)) return;
    const double from = x(each.begin);
    const double to = x(until);
    const std::string rank = rank_of(each.resource, each.token);
    const bool together = each.shared || each.permits > 1;
    rectangle(each.ending == Ending::unfinished ? "killed"
              : together                        ? "together"
                                                : "holding",
              from, to, top, bar, " fill=\"" + colour_of(each.worker) + "\"");
    out_ << "<title>worker " << each.worker + 1 << (each.shared ? ", reading" : "") << ", token "
         << rank << " of this lock (" << each.token << "), " << seconds(history_, each.begin)
         << " to " << seconds(history_, until) << " s, " << how(each.ending) << "</title></rect>";
    if (to - from > 7.0 * static_cast<double>(rank.size()) + 3) {
      text("rank", from + 2, top + 12, rank);
    }
    out_ << '\n';
  }

  static const char* how(Ending ending) {
    switch (ending) {
      case Ending::released: return "released";
      case Ending::detached: return "let run out";
      case Ending::over: return "ran out or was lost";
      case Ending::unfinished: return "the worker was killed: promised until then";
    }
    return "";
  }

  void draw_write(const Write& each) {
    const double row = row_of(each.resource);
    if (row < 0 || each.at < begin_ || each.at >= end_) return;
    const double top = row + 2 + bar + 1;
    const double at = x(each.at);
    const std::string title =
        "<title>" + seconds(history_, each.at) + " s: write of worker " +
        std::to_string(each.worker + 1) + " with token " + rank_of(each.resource, each.token) +
        (each.accepted
             ? ", accepted"
             : ", refused: the store had seen token " + rank_of(each.resource, each.greatest)) +
        "</title></path>\n";
    const bool stale = each.accepted && each.token < each.greatest;
    if (each.accepted && !stale) {
      out_ << "<path class=\"accepted\" d=\"M" << number(at) << ' ' << number(top) << "v6\">";
    } else {
      out_ << "<path class=\"" << (stale ? "stale" : "refused") << "\" d=\"M" << number(at - 4)
           << ' ' << number(top + 1) << "l8 8m0 -8l-8 8\">";
    }
    out_ << title;
  }

  void draw_overlap(const Overlap& each) {
    if (!shows(each.span.begin, each.span.end)) return;
    const double top = row_of(history_.holdings[each.first].resource);
    rectangle("overlap", x(each.span.begin), x(each.span.end), top, bar + 4);
    out_ << "<title>two believed to hold this lock</title></rect>\n";
  }

  void draw_fault(const FaultSpan& each, double top) {
    const Time until = each.end.value_or(history_.end);
    if (!shows(each.begin, until)) return;
    const double from = x(each.begin);
    const double to = x(until);
    const std::string words = each.name + (each.detail.empty() ? "" : " (" + each.detail + ")");
    top += band_row * each.target;
    rectangle(each.assumption == Assumption::within ? "within" : "beyond", from, to, top,
              band_row - 1);
    out_ << "<title>" << seconds(history_, each.begin) << " to " << seconds(history_, until)
         << " s: " << escaped(words) << "</title></rect>";
    const bool fits = to - from > 5.0 * static_cast<double>(words.size());
    if (fits || has_room_behind(each, to + 5.0 * static_cast<double>(each.name.size()))) {
      text("fault", fits ? from + 2 : to + 2, top + 8, fits ? words : each.name);
    }
    out_ << '\n';
  }

  /// Whether no other fault of this target is drawn before `until`.
  [[nodiscard]] bool has_room_behind(const FaultSpan& fault, double until) const {
    return std::ranges::none_of(history_.faults, [&](const FaultSpan& other) {
      return other.of_worker == fault.of_worker && other.target == fault.target &&
             other.begin > fault.begin && other.begin < end_ && x(other.begin) < until;
    });
  }

  void draw_violation(const Violation& each, double height) {
    if (each.at < begin_ || each.at >= end_) return;
    out_ << "<path class=\"violation\" d=\"M" << number(x(each.at)) << " 0V" << number(height)
         << "\"><title>" << escaped(each.sentence) << "</title></path>\n";
  }

  std::ostream& out_;
  const History& history_;
  const Ranks& ranks_;
  Time begin_;
  Time end_;
};

}  // namespace

std::size_t slice_of(const History& history, Time time) {
  return time <= history.begin ? 0
                               : static_cast<std::size_t>((time - history.begin) / slice_length);
}

std::string colour_of(int worker) {
  static constexpr const char* colours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2",
                                            "#edc948", "#9c755f", "#ff9da7", "#86bcb6", "#d4a6c8"};
  return colours[static_cast<std::size_t>(worker) % std::size(colours)];
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char each : text) {
    switch (each) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += each;
    }
  }
  return safe;
}

void draw_timeline(std::ostream& out, const History& history,
                   const std::vector<Violation>& violations) {
  const Ranks ranks = ranks_of(history);
  for (std::size_t slice = 0; slice <= slice_of(history, history.end); ++slice) {
    out << "<div class=\"slice\" id=\"slice" << slice << "\">\n";
    Slice(out, history, ranks, slice).draw(violations);
    out << "</div>\n";
  }
}

}  // namespace quorumlock::chaos
