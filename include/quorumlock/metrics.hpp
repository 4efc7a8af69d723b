#pragma once

#include <string>
#include <utility>
#include <vector>

#include <quorumlock/export.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/stats.hpp>
#include <quorumlock/status.hpp>

/// The figures of a coordinator as text for a monitoring system. docs/watching.md lists the
/// metrics.
namespace quorumlock {

struct MetricsFormat {
  /// False: the Prometheus text format 0.0.4 (`text/plain; version=0.0.4`). True: OpenMetrics 1.0
  /// (`application/openmetrics-text; version=1.0.0`), which ends with `# EOF`.
  bool openmetrics = false;
  /// Labels that every metric gets in addition to its own, such as {"service", "checkout"}. A value
  /// may be any UTF-8 text.
  std::vector<std::pair<std::string, std::string>> labels = {};
};

/// Writes what Coordinator::stats() returned. Any thread; it asks nobody. Errc::invalid_argument if
/// a label's name is not letters, digits and '_', begins with a digit or with "__", or is given
/// twice or one that the metrics use themselves (cause, group, kind, le, node, reason, vote).
QUORUMLOCK_EXPORT Result<std::string> metrics_text(const Stats& stats,
                                                   const MetricsFormat& format = {});
/// The same, and the nodes as Coordinator::status() returned them.
QUORUMLOCK_EXPORT Result<std::string> metrics_text(const Stats& stats, const ClusterStatus& status,
                                                   const MetricsFormat& format = {});

}  // namespace quorumlock
