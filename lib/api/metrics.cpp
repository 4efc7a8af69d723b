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

using Kind = MetricFamily::Kind;

/// Collects families, each begun before its samples.
class Families {
 public:
  explicit Families(const MetricLabels& labels) : labels_(labels) {}

  void counter(const char* name, const char* help) { begin(Kind::counter, name, help); }
  void gauge(const char* name, const char* help) { begin(Kind::gauge, name, help); }
  /// A counter or gauge of one sample.
  void counter(const char* name, const char* help, std::uint64_t value) {
    counter(name, help);
    sample(value);
  }
  void gauge(const char* name, const char* help, std::uint64_t value) {
    gauge(name, help);
    sample(value);
  }
  /// A sample of the counter or gauge begun last.
  void sample(std::uint64_t value, const MetricLabels& own = {}) {
    sample(static_cast<double>(value), own);
  }
  void sample(double value, const MetricLabels& own = {}) {
    all_.back().samples.push_back({.labels = with(own), .value = value});
  }
  void histogram(const char* name, const char* help) { begin(Kind::histogram, name, help); }
  /// A histogram of one sample.
  void histogram(const char* name, const char* help, const DurationStats& stats) {
    histogram(name, help);
    sample(stats);
  }
  /// A sample of the histogram begun last.
  void sample(const DurationStats& stats, const MetricLabels& own = {}) {
    all_.back().samples.push_back({.labels = with(own), .histogram = stats});
  }
  std::vector<MetricFamily> end() && { return std::move(all_); }

 private:
  void begin(Kind kind, const char* name, const char* help) {
    all_.push_back(
        {.kind = kind, .name = std::string("quorumlock_") + name, .help = help, .samples = {}});
  }
  [[nodiscard]] MetricLabels with(const MetricLabels& own) const {
    MetricLabels labels = labels_;
    labels.insert(labels.end(), own.begin(), own.end());
    return labels;
  }

  const MetricLabels& labels_;
  std::vector<MetricFamily> all_;
};

/// Writes families as text, each with its help and type once, before its samples.
class Page {
 public:
  explicit Page(bool openmetrics) : openmetrics_(openmetrics) {}

  void put(const MetricFamily& family) {
    const bool counts = family.kind == Kind::counter;
    // A counter's family has the suffix of its samples in the older format only.
    const std::string name = family.name + (counts && !openmetrics_ ? "_total" : "");
    text_ += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " +
             word_for(family.kind) + "\n";
    for (const MetricSample& sample : family.samples) {
      if (sample.histogram) {
        put_histogram(family.name, *sample.histogram, sample.labels);
      } else {
        put(family.name + (counts ? "_total" : ""), sample.labels, shortest(sample.value));
      }
    }
  }

  std::string end() && {
    if (openmetrics_) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  static const char* word_for(Kind kind) {
    if (kind == Kind::counter) return "counter";
    return kind == Kind::gauge ? "gauge" : "histogram";
  }

  void put_histogram(const std::string& name, const DurationStats& stats,
                     const MetricLabels& labels) {
    std::uint64_t below = 0;
    const auto bucket = [&](const std::string& bound, std::uint64_t count) {
      MetricLabels all = labels;
      all.emplace_back("le", bound);
      put(name + "_bucket", all, std::to_string(count));
    };
    for (std::size_t i = 0; i < DurationStats::bounds.size(); ++i) {
      below += stats.histogram[i];
      bucket(shown_bound(DurationStats::bounds[i]), below);
    }
    bucket("+Inf", stats.count);
    put(name + "_sum", labels, seconds(stats.total));
    put(name + "_count", labels, std::to_string(stats.count));
  }

  /// OpenMetrics wants a bound to look like a floating-point number.
  [[nodiscard]] std::string shown_bound(std::chrono::nanoseconds span) const {
    std::string text = seconds(span);
    if (openmetrics_ && text.find_first_of(".e") == text.npos) text += ".0";
    return text;
  }

  void put(const std::string& name, const MetricLabels& labels, const std::string& value) {
    text_ += name;
    char before = '{';
    for (const auto& [label, its] : labels) {
      text_ += before;
      text_ += label + "=\"";
      for (const char letter : its) {
        if (letter == '\\' || letter == '"') text_ += '\\';
        text_ += letter == '\n' ? std::string("\\n") : std::string(1, letter);
      }
      text_ += '"';
      before = ',';
    }
    if (before == ',') text_ += '}';
    text_ += " " + value + "\n";
  }

  const bool openmetrics_;
  std::string text_;
};

std::optional<Error> fault_of(const MetricLabels& labels) {
  std::set<std::string> used = {"cause", "class", "group", "kind", "le", "node", "reason", "vote"};
  for (const auto& [name, value] : labels) {
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

/// A sample for each reason.
void put_refused(Families& all, const RefusedStats& refused, const MetricLabels& own = {}) {
  const auto put_one = [&](const char* reason, std::uint64_t count) {
    MetricLabels labels = own;
    labels.emplace_back("reason", reason);
    all.sample(count, labels);
  };
  put_one("contended", refused.contended);
  put_one("no_quorum", refused.no_quorum);
  put_one("timed_out", refused.timed_out);
  put_one("cancelled", refused.cancelled);
  put_one("closed", refused.closed);
  put_one("misconfigured", refused.misconfigured);
}

void put_classes(Families& all, const std::vector<ClassStats>& classes) {
  if (classes.empty()) return;
  const auto labels = [](const ClassStats& one) {
    return MetricLabels{{"class", one.prefix.empty() ? "other" : one.prefix}};
  };
  all.counter("class_acquired", "Acquisitions that ended with a lease, by class of resource.");
  for (const ClassStats& one : classes) all.sample(one.acquired, labels(one));
  all.counter("class_refused", "Acquisitions that ended without a lease, by class and reason.");
  for (const ClassStats& one : classes) put_refused(all, one.refused, labels(one));
  all.counter("class_lost", "Leases that could not be renewed, by class of resource.");
  for (const ClassStats& one : classes) all.sample(one.lost, labels(one));
  all.histogram("class_wait_seconds",
                "Waits of acquisitions that did not get the lock at once, by class of resource.");
  for (const ClassStats& one : classes) all.sample(one.waits, labels(one));
}

void put(Families& all, const Stats& stats) {
  all.gauge("held", "Leases held now.", stats.held);
  all.gauge("waiting", "Acquisitions under way now.", stats.waiting);
  all.gauge("oldest_wait_seconds",
            "Age of the oldest acquisition that is under way now, 0 if there is none.");
  all.sample(std::chrono::duration<double>(stats.oldest_wait).count());
  all.counter("attempts", "Attempts at a lock; an acquisition makes one or more.", stats.attempts);
  all.counter("acquired", "Acquisitions that ended with a lease.", stats.acquired);
  all.counter("refused", "Acquisitions that ended without a lease, by reason.");
  put_refused(all, stats.refused);
  all.histogram("wait_seconds", "Waits of acquisitions that did not get the lock at once.",
                stats.waits);
  all.counter("won_after", "Waits that were won, by the cause of the attempt that won.");
  all.sample(stats.won_after.hand_over, {{"cause", "hand_over"}});
  all.sample(stats.won_after.message, {{"cause", "message"}});
  all.sample(stats.won_after.look, {{"cause", "look"}});
  all.counter("near_misses", "Operations that succeeded and nearly failed.");
  all.sample(stats.near_misses.bare_quorum, {{"kind", "bare_quorum"}});
  all.sample(stats.near_misses.acquired_late, {{"kind", "acquired_late"}});
  all.sample(stats.near_misses.renewed_late, {{"kind", "renewed_late"}});
  all.counter("renewals", "Renewals of leases.", stats.renewals);
  all.histogram("renewal_slack_seconds",
                "How long before the end of their leases the renewals succeeded.",
                stats.renewal_slack);
  all.counter("failed_renewals", "Rounds of renewal that failed; a later one may have succeeded.",
              stats.failed_renewals);
  all.counter("released", "Leases that were released.", stats.released);
  all.counter("expired", "Leases that ran to their end as they were asked to.", stats.expired);
  all.counter("lost", "Leases that could not be renewed.", stats.lost);
  all.counter("votes", "Votes of nodes in rounds that were counted, or why a node gave none.");
  for (std::size_t i = 0; i < stats.votes.size(); ++i) {
    all.sample(stats.votes[i], {{"vote", std::string(to_string(static_cast<Vote>(i)))}});
  }
  put_classes(all, stats.classes);
}

/// A sample for each node that has the figure, of the gauge or counter begun last.
template <class Figure>
void put_each(Families& all, const ClusterStatus& status, Figure figure) {
  for (const NodeStatus& node : status.nodes) {
    MetricLabels labels = {{"node", node.node}};
    if (!node.group.empty()) labels.emplace_back("group", node.group);
    if (const std::optional<double> value = figure(node)) all.sample(*value, labels);
  }
}

std::optional<double> in_seconds(std::optional<std::chrono::nanoseconds> span) {
  if (!span) return std::nullopt;
  return std::chrono::duration<double>(*span).count();
}

void put(Families& all, const ClusterStatus& status) {
  using Value = std::optional<double>;
  all.gauge("node_votes", "1 if the node's votes count, else 0.");
  put_each(all, status, [](const NodeStatus& node) -> Value { return node.votes ? 1.0 : 0.0; });
  all.gauge("node_round_trip_seconds", "The last measured round trip to the node.");
  put_each(all, status, [](const NodeStatus& node) { return in_seconds(node.round_trip); });
  all.gauge("node_clock_offset_seconds", "How far the node's clock is ahead of this host's.");
  put_each(all, status, [](const NodeStatus& node) { return in_seconds(node.clock.offset); });
  all.gauge("node_clock_drift_ratio", "How much faster the node's clock runs than this host's.");
  put_each(all, status, [](const NodeStatus& node) -> Value { return node.clock.drift; });
  all.counter("node_connections", "Connections to the node that came up.");
  put_each(all, status,
           [](const NodeStatus& node) -> Value { return static_cast<double>(node.connections); });
}

std::string text_of(const std::vector<MetricFamily>& families, bool openmetrics) {
  Page page(openmetrics);
  for (const MetricFamily& family : families) page.put(family);
  return std::move(page).end();
}

}  // namespace

Result<std::vector<MetricFamily>> metric_families(const Stats& stats, const MetricLabels& labels) {
  if (std::optional<Error> fault = fault_of(labels)) return *std::move(fault);
  Families all(labels);
  put(all, stats);
  return std::move(all).end();
}

Result<std::vector<MetricFamily>> metric_families(const Stats& stats, const ClusterStatus& status,
                                                  const MetricLabels& labels) {
  if (std::optional<Error> fault = fault_of(labels)) return *std::move(fault);
  Families all(labels);
  put(all, stats);
  put(all, status);
  return std::move(all).end();
}

Result<std::string> metrics_text(const Stats& stats, const MetricsFormat& format) {
  Result<std::vector<MetricFamily>> families = metric_families(stats, format.labels);
  if (!families) return std::move(families).error();
  return text_of(*families, format.openmetrics);
}

Result<std::string> metrics_text(const Stats& stats, const ClusterStatus& status,
                                 const MetricsFormat& format) {
  Result<std::vector<MetricFamily>> families = metric_families(stats, status, format.labels);
  if (!families) return std::move(families).error();
  return text_of(*families, format.openmetrics);
}

}  // namespace quorumlock
