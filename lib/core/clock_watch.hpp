#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/types.hpp"

namespace quorumlock::core {

/// Holds the nodes' clocks against the client's own, which counts suspended time.
///
/// Each sample is the node's clock, read at some moment between `asked` and `now`. Between two
/// samples a node's clock has advanced by so much, ours by at least (asked - the other's now) and
/// at most (now - the other's asked). What lies outside of that, even at the greatest relative
/// rate, is a step or a clock that runs too fast or too slow: proven, no noise can make it so. A
/// change smaller than the samples' own width and tolerance is not seen, nor is one that is undone
/// between two samples.
class ClockWatch {
 public:
  /// A node that runs wrong by less than a sample's width is caught over this span.
  ClockWatch(double drift_factor, Duration span) : drift_(drift_factor), span_(span) {}

  /// By how much the node's clock is beyond the bound since an earlier sample; unset: within it.
  std::optional<Duration> sample(int node, Time asked, Time now, std::int64_t node_time_us) {
    Node& of = nodes_[static_cast<std::size_t>(node)];
    const Sample sample{asked, now, std::chrono::microseconds(node_time_us)};
    std::optional<Duration> beyond = excess(of.last, sample);
    if (!beyond) beyond = excess(of.anchor, sample);
    if (beyond) {
      of.anchor = of.last = sample;  // judged anew from here on
      return beyond;
    }
    if (!of.anchor || now - of.anchor->asked > span_) of.anchor = of.last ? of.last : sample;
    of.last = sample;
    return std::nullopt;
  }

  /// How much faster than ours a node's clock runs (0.01: one per cent), give or take.
  struct Drift {
    double rate;
    double uncertainty;
  };
  /// Between the first and the last sample of a span; unset: there are no two.
  [[nodiscard]] std::optional<Drift> drift(int node) const {
    const Node& of = nodes_[static_cast<std::size_t>(node)];
    if (!of.anchor || !of.last || of.last->asked < of.anchor->received) return std::nullopt;
    const Sample& from = *of.anchor;
    const Sample& to = *of.last;
    const double least = static_cast<double>((to.asked - from.received).count());
    const double most = static_cast<double>((to.received - from.asked).count());
    const double ours = (least + most) / 2;
    if (ours <= 0) return std::nullopt;
    const double its = static_cast<double>((to.node_time - from.node_time).count());
    return Drift{its / ours - 1, (most - least) / 2 / ours};
  }

 private:
  struct Sample {
    Time asked, received;
    Duration node_time;
  };
  struct Node {
    std::optional<Sample> last, anchor;
  };

  [[nodiscard]] std::optional<Duration> excess(const std::optional<Sample>& from,
                                               const Sample& to) const {
    // Of two samples taken side by side nothing can be said.
    if (!from || to.asked < from->received) return std::nullopt;
    const Duration advance = to.node_time - from->node_time;
    const auto most = static_cast<double>((to.received - from->asked).count()) * (1 + drift_);
    const auto least = static_cast<double>((to.asked - from->received).count()) / (1 + drift_);
    const auto rounding = std::chrono::microseconds(1);  // of the node's own clock
    const auto high = advance - Duration(static_cast<Duration::rep>(most)) - rounding;
    const auto low = advance - Duration(static_cast<Duration::rep>(least)) + rounding;
    if (high > Duration::zero()) return high;
    if (low < Duration::zero()) return low;
    return std::nullopt;
  }

  double drift_;
  Duration span_;
  std::array<Node, max_nodes> nodes_{};
};

}  // namespace quorumlock::core
