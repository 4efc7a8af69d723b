#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <quorumlock/detail/export.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/stats.hpp>
#include <quorumlock/status.hpp>

/// The figures of a coordinator as text for a monitoring system, or as values that a program can
/// pass to one. docs/watching.md lists the metrics.
namespace quorumlock {

/// Names and values, such as {"service", "checkout"}. A value may be any text, and is made
/// printable() in the metrics.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// The format of metrics_text().
struct MetricsFormat {
  /// False: the Prometheus text format 0.0.4 (`text/plain; version=0.0.4`). True: OpenMetrics 1.0
  /// (`application/openmetrics-text; version=1.0.0`), which ends with `# EOF`.
  bool openmetrics = false;
  /// Labels that every metric gets in addition to its own.
  MetricLabels labels = {};
};

/// Writes what Coordinator::stats() returned. The function may be called on any thread, and asks no
/// node. The error is Errc::invalid_argument if a label's name is not letters, digits and '_',
/// begins with a digit or with "__", is given twice, or is one that the metrics use themselves
/// (cause, class, group, kind, le, node, reason, vote).
QUORUMLOCK_EXPORT Result<std::string> metrics_text(const Stats& stats,
                                                   const MetricsFormat& format = {});
/// Writes the same metrics, and those of the nodes from what Coordinator::status() returned.
QUORUMLOCK_EXPORT Result<std::string> metrics_text(const Stats& stats, const ClusterStatus& status,
                                                   const MetricsFormat& format = {});

/// One sample of a metric.
struct MetricSample {
  MetricLabels labels;                                    ///< the caller's, then the metric's own
  double value = 0;                                       ///< the present value
  std::optional<DurationStats> histogram = std::nullopt;  ///< if set, it replaces `value`
};

/// All samples of one name. A counter's name is without the suffix _total, which both text formats
/// add to it.
struct MetricFamily {
  /// The kinds of metrics, as Prometheus calls them.
  enum class Kind { counter, gauge, histogram };
  Kind kind = Kind::gauge;            ///< how its samples are to be read
  std::string name;                   ///< begins with "quorumlock_"
  std::string help;                   ///< a sentence for people
  std::vector<MetricSample> samples;  ///< one for each set of labels
};

/// Returns what metrics_text() writes, as values. Arguments and errors are the same.
QUORUMLOCK_EXPORT Result<std::vector<MetricFamily>> metric_families(
    const Stats& stats, const MetricLabels& labels = {});
QUORUMLOCK_EXPORT Result<std::vector<MetricFamily>> metric_families(
    const Stats& stats, const ClusterStatus& status, const MetricLabels& labels = {});

}  // namespace quorumlock
