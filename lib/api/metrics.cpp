#include <quorumlock/metrics.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include <quorumlock/printable.hpp>

#include "config/metric_labels.hpp"

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

  Families& counter(const char* name, const char* help) { return begin(Kind::counter, name, help); }
  Families& gauge(const char* name, const char* help) { return begin(Kind::gauge, name, help); }
  Families& histogram(const char* name, const char* help) {
    return begin(Kind::histogram, name, help);
  }
  /// Adds a sample to the family begun last.
  void sample(std::uint64_t value, const MetricLabels& own = {}) {
    sample(static_cast<double>(value), own);
  }
  void sample(double value, const MetricLabels& own = {}) {
    all_.back().samples.push_back({.labels = with(own), .value = value});
  }
  void sample(const DurationStats& stats, const MetricLabels& own = {}) {
    all_.back().samples.push_back({.labels = with(own), .histogram = stats});
  }
  std::vector<MetricFamily> end() && { return std::move(all_); }

 private:
  Families& begin(Kind kind, const char* name, const char* help) {
    all_.push_back(
        {.kind = kind, .name = std::string("quorumlock_") + name, .help = help, .samples = {}});
    return *this;
  }
  [[nodiscard]] MetricLabels with(const MetricLabels& own) const {
    MetricLabels labels = labels_;
    labels.insert(labels.end(), own.begin(), own.end());
    // Prometheus drops the whole page for one byte that is not UTF-8.
    for (auto& [name, value] : labels) value = printable(value);
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
        text_ += letter;
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

/// Adds a sample for each value of a label.
void put_by(Families& all, const char* label, MetricLabels own,
            std::initializer_list<std::pair<const char*, std::uint64_t>> counts) {
  own.emplace_back(label, "");
  for (const auto& [value, count] : counts) {
    own.back().second = value;
    all.sample(count, own);
  }
}

void put_refused(Families& all, const RefusedStats& refused, const MetricLabels& own = {}) {
  put_by(all, "reason", own,
         {{"contended", refused.contended},
          {"no_quorum", refused.no_quorum},
          {"timed_out", refused.timed_out},
          {"cancelled", refused.cancelled},
          {"closed", refused.closed},
          {"misconfigured", refused.misconfigured}});
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

std::pair<std::string, std::string> vote_label(std::size_t number) {
  return {"vote", std::string(to_string(static_cast<Vote>(number)))};
}

MetricLabels group_of(const auto& node) {
  return node.group.empty() ? MetricLabels() : MetricLabels{{"group", node.group}};
}

MetricLabels labels_of(const auto& node) {
  MetricLabels labels = group_of(node);
  labels.insert(labels.begin(), {"node", node.node});
  return labels;
}

void put_nodes(Families& all, const std::vector<NodeVotes>& nodes) {
  if (nodes.empty()) return;
  std::map<MetricLabels, std::uint64_t> voting;
  for (const NodeVotes& node : nodes) voting[group_of(node)] += node.counts ? 1 : 0;
  all.gauge("nodes_voting", "Nodes that are connected, and whose votes count now.");
  for (const auto& [group, count] : voting) all.sample(count, group);
  all.counter("node_answers", "Votes of each node, or why it gave none; those that it has given.");
  for (const NodeVotes& node : nodes) {
    for (std::size_t i = 0; i < node.votes.size(); ++i) {
      MetricLabels labels = labels_of(node);
      labels.push_back(vote_label(i));
      if (node.votes[i] != 0) all.sample(node.votes[i], labels);
    }
  }
}

void put(Families& all, const Stats& stats) {
  all.gauge("held", "Leases held now.").sample(stats.held);
  all.gauge("waiting", "Acquisitions under way now.").sample(stats.waiting);
  all.gauge("oldest_wait_seconds",
            "Age of the oldest acquisition that is under way now, 0 if there is none.")
      .sample(std::chrono::duration<double>(stats.oldest_wait).count());
  all.counter("attempts", "Attempts at a lock; an acquisition makes one or more.")
      .sample(stats.attempts);
  all.counter("acquired", "Acquisitions that ended with a lease.").sample(stats.acquired);
  all.counter("refused", "Acquisitions that ended without a lease, by reason.");
  put_refused(all, stats.refused);
  all.histogram("wait_seconds", "Waits of acquisitions that did not get the lock at once.")
      .sample(stats.waits);
  all.counter("won_after", "Waits that were won, by the cause of the attempt that won.");
  put_by(all, "cause", {},
         {{"hand_over", stats.won_after.hand_over},
          {"message", stats.won_after.message},
          {"look", stats.won_after.look}});
  all.counter("near_misses", "Operations that succeeded and nearly failed.");
  put_by(all, "kind", {},
         {{"bare_quorum", stats.near_misses.bare_quorum},
          {"acquired_late", stats.near_misses.acquired_late},
          {"renewed_late", stats.near_misses.renewed_late}});
  all.counter("renewals", "Renewals of leases.").sample(stats.renewals);
  all.histogram("renewal_slack_seconds",
                "How long before the end of their leases the renewals succeeded.")
      .sample(stats.renewal_slack);
  all.counter("failed_renewals", "Rounds of renewal that failed; a later one may have succeeded.")
      .sample(stats.failed_renewals);
  all.counter("released", "Leases that were released.").sample(stats.released);
  all.counter("expired", "Leases that ran to their end as they were asked to.")
      .sample(stats.expired);
  all.counter("lost", "Leases that could not be renewed.").sample(stats.lost);
  all.counter("votes", "Votes of nodes in rounds that were counted, or why a node gave none.");
  for (std::size_t i = 0; i < stats.votes.size(); ++i) all.sample(stats.votes[i], {vote_label(i)});
  put_nodes(all, stats.nodes);
  put_classes(all, stats.classes);
}

/// Adds to the gauge or counter begun last a sample for each node that has the figure.
template <class Figure>
void put_each(Families& all, const ClusterStatus& status, Figure figure) {
  for (const NodeStatus& node : status.nodes) {
    if (const std::optional<double> value = figure(node)) all.sample(*value, labels_of(node));
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
  all.gauge("node_nobody_enrols", "1 if the node waits and nobody is seen to enrol it, else 0.");
  put_each(all, status, [](const NodeStatus& node) -> Value {
    return node.enrolment.nobody_enrols ? 1.0 : 0.0;
  });
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

/// `status` may be null.
Result<std::vector<MetricFamily>> families_of(const Stats& stats, const ClusterStatus* status,
                                              const MetricLabels& labels) {
  if (std::optional<Error> fault = detail::fault_of(labels)) return *std::move(fault);
  Families all(labels);
  put(all, stats);
  if (status != nullptr) put(all, *status);
  return std::move(all).end();
}

Result<std::string> text_of(const Result<std::vector<MetricFamily>>& families, bool openmetrics) {
  if (!families) return families.error();
  Page page(openmetrics);
  for (const MetricFamily& family : *families) page.put(family);
  return std::move(page).end();
}

}  // namespace

Result<std::vector<MetricFamily>> metric_families(const Stats& stats, const MetricLabels& labels) {
  return families_of(stats, nullptr, labels);
}

Result<std::vector<MetricFamily>> metric_families(const Stats& stats, const ClusterStatus& status,
                                                  const MetricLabels& labels) {
  return families_of(stats, &status, labels);
}

Result<std::string> metrics_text(const Stats& stats, const MetricsFormat& format) {
  return text_of(families_of(stats, nullptr, format.labels), format.openmetrics);
}

Result<std::string> metrics_text(const Stats& stats, const ClusterStatus& status,
                                 const MetricsFormat& format) {
  return text_of(families_of(stats, &status, format.labels), format.openmetrics);
}

}  // namespace quorumlock
