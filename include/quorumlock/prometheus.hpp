#pragma once

/// The metrics of a coordinator for programs that use prometheus-cpp. This header is optional and
/// not part of <quorumlock/quorumlock.hpp>; it needs prometheus-cpp 1.0 or later.
///
///     quorumlock::Coordinator coordinator = ...;
///     auto locks = std::make_shared<quorumlock::PrometheusCollectable>(coordinator);
///     prometheus::Exposer exposer("127.0.0.1:9464");
///     exposer.RegisterCollectable(locks);
///
/// The metrics are those of <quorumlock/metrics.hpp>.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/metrics.hpp>

namespace quorumlock {

/// The options of a PrometheusCollectable.
struct PrometheusSettings {
  /// Labels that every metric gets in addition to its own.
  MetricLabels labels = {};
  /// Whether each collection also asks the nodes for their status. A collection then takes a round
  /// trip, or, if nodes do not answer, as long as Coordinator::status(). `quorumlock serve` has the
  /// metrics of the nodes, too, so that one observer is enough for all programs.
  bool nodes = false;
};

/// Collects the metrics of a coordinator, which must outlive it. An exporter may call it on any
/// thread but the coordinator's own loop.
class PrometheusCollectable final : public ::prometheus::Collectable {
 public:
  /// Throws Error (Errc::invalid_argument) if metrics_text() would refuse the labels.
  explicit PrometheusCollectable(Coordinator& coordinator, PrometheusSettings settings = {})
      : coordinator_(&coordinator), settings_(std::move(settings)) {
    (void)metric_families(Stats{}, settings_.labels).value();
  }

  /// Returns the metrics. If the status of the nodes cannot be read, their metrics are left out.
  [[nodiscard]] std::vector<::prometheus::MetricFamily> Collect() const override {
    if (settings_.nodes) {
      if (const Result<ClusterStatus> status = coordinator_->status()) {
        return converted(metric_families(coordinator_->stats(), *status, settings_.labels).value());
      }
    }
    return converted(metric_families(coordinator_->stats(), settings_.labels).value());
  }

 private:
  static std::vector<::prometheus::MetricFamily> converted(
      const std::vector<MetricFamily>& families) {
    std::vector<::prometheus::MetricFamily> all;
    all.reserve(families.size());
    for (const MetricFamily& from : families) {
      ::prometheus::MetricFamily& to = all.emplace_back();
      to.name = from.name;
      to.help = from.help;
      to.type = ::prometheus::MetricType::Gauge;
      if (from.kind == MetricFamily::Kind::counter) {
        to.name += "_total";
        to.type = ::prometheus::MetricType::Counter;
      } else if (from.kind == MetricFamily::Kind::histogram) {
        to.type = ::prometheus::MetricType::Histogram;
      }
      for (const MetricSample& sample : from.samples) to.metric.push_back(converted(sample));
    }
    return all;
  }

  static ::prometheus::ClientMetric converted(const MetricSample& sample) {
    ::prometheus::ClientMetric metric;
    for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
    // prometheus-cpp reads only the value that belongs to the family's type.
    metric.counter.value = metric.gauge.value = sample.value;
    if (!sample.histogram) return metric;
    const DurationStats& stats = *sample.histogram;
    metric.histogram.sample_count = stats.count;
    metric.histogram.sample_sum = in_seconds(stats.total);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < DurationStats::bounds.size(); ++i) {
      below += stats.histogram[i];
      metric.histogram.bucket.push_back({below, in_seconds(DurationStats::bounds[i])});
    }
    metric.histogram.bucket.push_back({stats.count, std::numeric_limits<double>::infinity()});
    return metric;
  }

  static double in_seconds(std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
  }

  Coordinator* coordinator_;
  PrometheusSettings settings_;
};

}  // namespace quorumlock
