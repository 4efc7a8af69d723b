#include <quorumlock/metrics.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "config/quoted.hpp"
#include "config/refusal.hpp"

namespace quorumlock {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string shortest(double number) {
  std::array<char, 400> digits{};  // the longest double has 309 digits before the point
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed)
          .ptr;
  return {digits.data(), end};
}

std::string seconds(std::chrono::nanoseconds span) {
  return shortest(std::chrono::duration<double>(span).count());
}

/// Writes families of metrics, each with its help and type once, before its samples.
class Page {
 public:
  explicit Page(const MetricsFormat& format) : format_(format) {}

  void counter(std::string_view name, std::string_view help) { begin(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { begin(name, "gauge", help); }
  /// A sample of the counter or gauge begun last.
  void sample(std::uint64_t value, const Labels& labels = {}) {
    put(is_counter_ ? "_total" : "", labels, std::to_string(value));
  }
  void sample(double value, const Labels& labels = {}) { put("", labels, shortest(value)); }

  void histogram(std::string_view name, std::string_view help, const DurationStats& stats) {
    begin(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < DurationStats::bounds.size(); ++i) {
      below += stats.histogram[i];
      put("_bucket", {{"le", bound(DurationStats::bounds[i])}}, std::to_string(below));
    }
    put("_bucket", {{"le", "+Inf"}}, std::to_string(stats.count));
    put("_sum", {}, seconds(stats.total));
    put("_count", {}, std::to_string(stats.count));
  }

  std::string end() && {
    if (format_.openmetrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "quorumlock_" + std::string(name);
    is_counter_ = type == "counter";
    // A counter's family has the suffix of its samples in the older format only.
    const std::string family = name_ + (is_counter_ && !format_.openmetrics ? "_total" : "");
    text_ += "# HELP " + family + " ";
    text_.append(help).append("\n# TYPE " + family + " ").append(type).append("\n");
  }

  /// OpenMetrics wants a bound to look like a floating-point number.
  [[nodiscard]] std::string bound(std::chrono::nanoseconds span) const {
    std::string text = seconds(span);
    if (format_.openmetrics && text.find_first_of(".e") == text.npos) text += ".0";
    return text;
  }

  void put(std::string_view suffix, const Labels& own, const std::string& value) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const Labels* labels : {&format_.labels, &own}) {
      for (const auto& [name, its] : *labels) {
        text_ += before;
        text_ += name + "=\"";
        for (const char letter : its) {
          if (letter == '\\' || letter == '"') text_ += '\\';
          text_ += letter == '\n' ? std::string("\\n") : std::string(1, letter);
        }
        text_ += '"';
        before = ',';
      }
    }
    if (before == ',') text_ += '}';
    text_ += " " + value + "\n";
  }

  const MetricsFormat& format_;
  std::string text_, name_;
  bool is_counter_ = false;
};

std::optional<Error> fault_of(const MetricsFormat& format) {
  std::set<std::string> used = {"cause", "group", "kind", "le", "node", "reason", "vote"};
  for (const auto& [name, value] : format.labels) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (name.empty() || name.find_first_not_of(letters) != name.npos || name.starts_with("__") ||
        (name[0] >= '0' && name[0] <= '9')) {
      return detail::refusal("the label " + detail::quoted(name) +
                             " has no valid name: use letters, digits and '_', and begin with a "
                             "letter or one '_'");
    }
    if (!used.insert(name).second) {
      return detail::refusal("the label " + detail::quoted(name) +
                             " is given twice, or is a label of the metrics themselves: choose "
                             "another name");
    }
  }
  return std::nullopt;
}

void put(Page& page, const Stats& stats) {
  page.gauge("held", "Leases held now.");
  page.sample(stats.held);
  page.gauge("waiting", "Acquisitions under way now.");
  page.sample(stats.waiting);
  page.counter("attempts", "Attempts at a lock; an acquisition makes one or more.");
  page.sample(stats.attempts);
  page.counter("acquired", "Acquisitions that ended with a lease.");
  page.sample(stats.acquired);
  page.counter("refused", "Acquisitions that ended without a lease, by reason.");
  page.sample(stats.refused.contended, {{"reason", "contended"}});
  page.sample(stats.refused.no_quorum, {{"reason", "no_quorum"}});
  page.sample(stats.refused.timed_out, {{"reason", "timed_out"}});
  page.sample(stats.refused.cancelled, {{"reason", "cancelled"}});
  page.sample(stats.refused.closed, {{"reason", "closed"}});
  page.sample(stats.refused.misconfigured, {{"reason", "misconfigured"}});
  page.histogram("wait_seconds", "Waits of acquisitions that did not get the lock at once.",
                 stats.waits);
  page.counter("won_after", "Waits that were won, by the cause of the attempt that won.");
  page.sample(stats.won_after.hand_over, {{"cause", "hand_over"}});
  page.sample(stats.won_after.message, {{"cause", "message"}});
  page.sample(stats.won_after.look, {{"cause", "look"}});
  page.counter("near_misses", "Operations that succeeded and nearly failed.");
  page.sample(stats.near_misses.bare_quorum, {{"kind", "bare_quorum"}});
  page.sample(stats.near_misses.acquired_late, {{"kind", "acquired_late"}});
  page.sample(stats.near_misses.renewed_late, {{"kind", "renewed_late"}});
  page.counter("renewals", "Renewals of leases.");
  page.sample(stats.renewals);
  page.counter("failed_renewals", "Rounds of renewal that failed; a later one may have succeeded.");
  page.sample(stats.failed_renewals);
  page.counter("released", "Leases that were released.");
  page.sample(stats.released);
  page.counter("expired", "Leases that ran to their end as they were asked to.");
  page.sample(stats.expired);
  page.counter("lost", "Leases that could not be renewed.");
  page.sample(stats.lost);
  page.counter("votes", "Votes of nodes in rounds that were counted, or why a node gave none.");
  for (std::size_t i = 0; i < stats.votes.size(); ++i) {
    page.sample(stats.votes[i], {{"vote", std::string(to_string(static_cast<Vote>(i)))}});
  }
}

/// A gauge with a sample for each node that has the figure.
template <class Figure>
void put_each(Page& page, const ClusterStatus& status, const char* name, const char* help,
              Figure figure) {
  page.gauge(name, help);
  for (const NodeStatus& node : status.nodes) {
    Labels labels = {{"node", node.node}};
    if (!node.group.empty()) labels.emplace_back("group", node.group);
    if (const std::optional<double> value = figure(node)) page.sample(*value, labels);
  }
}

std::optional<double> in_seconds(std::optional<std::chrono::nanoseconds> span) {
  if (!span) return std::nullopt;
  return std::chrono::duration<double>(*span).count();
}

void put(Page& page, const ClusterStatus& status) {
  using Value = std::optional<double>;
  put_each(page, status, "node_votes", "1 if the node's votes count, else 0.",
           [](const NodeStatus& node) -> Value { return node.votes ? 1.0 : 0.0; });
  put_each(page, status, "node_round_trip_seconds", "The last measured round trip to the node.",
           [](const NodeStatus& node) { return in_seconds(node.round_trip); });
  put_each(page, status, "node_clock_offset_seconds",
           "How far the node's clock is ahead of this host's.",
           [](const NodeStatus& node) { return in_seconds(node.clock.offset); });
  put_each(page, status, "node_clock_drift_ratio",
           "How much faster the node's clock runs than this host's.",
           [](const NodeStatus& node) -> Value { return node.clock.drift; });
}

}  // namespace

Result<std::string> metrics_text(const Stats& stats, const MetricsFormat& format) {
  if (std::optional<Error> fault = fault_of(format)) return *std::move(fault);
  Page page(format);
  put(page, stats);
  return std::move(page).end();
}

Result<std::string> metrics_text(const Stats& stats, const ClusterStatus& status,
                                 const MetricsFormat& format) {
  if (std::optional<Error> fault = fault_of(format)) return *std::move(fault);
  Page page(format);
  put(page, stats);
  put(page, status);
  return std::move(page).end();
}

}  // namespace quorumlock
