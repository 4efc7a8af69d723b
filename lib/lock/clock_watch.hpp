#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "lock/mutants.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

/// Compares the nodes' clocks with the client's own, which counts suspended time.
///
/// A sample is the node's clock, read at some moment between `asked` and `now`. From one sample to
/// the next our clock has advanced by at least (asked - the earlier now) and at most (now - the
/// earlier asked). If the node's clock has advanced by less or more than that, even at the greatest
/// relative rate, it has stepped or runs too fast or too slow: noise cannot cause this. A change
/// smaller than the samples' own width and tolerance is not seen, nor is one that is undone between
/// two samples.
///
/// If a node is found ahead, then its clock has jumped, or ours has stood still, at some moment of
/// ours between the earlier sample and this one. If a quorum of nodes has such a moment in common,
/// one stand-still of our clock explains all of them (protocol.md, 11.2), however late some of them
/// are asked or answer.
class ClockWatch {
 public:
  /// Drift too small to show between two consecutive samples is caught over `span`.
  ClockWatch(double drift_factor, Duration span) : drift_(drift_factor), span_(span) {}

  /// Returns how far the node's clock is beyond the bound since an earlier sample, unset if within.
  std::optional<Duration> sample(int node, Time asked, Time now, std::int64_t node_time_us) {
    if (asked <= restarted_) return std::nullopt;
    Node& of = nodes_[static_cast<std::size_t>(node)];
    const Sample sample{asked, now, std::chrono::microseconds(node_time_us)};
    const std::optional<Duration> since_last = excess(of.last, sample);
    const std::optional<Duration> beyond = since_last ? since_last : excess(of.anchor, sample);
    if (beyond) {
      if (*beyond > Duration::zero()) of.ahead = {(since_last ? of.last : of.anchor)->asked, now};
      of.anchor = of.last = sample;  // judged anew from here on
      return beyond;
    }
    if (!of.anchor || now - of.anchor->asked > span_) of.anchor = of.last ? of.last : sample;
    of.last = sample;
    return std::nullopt;
  }

  /// The largest set of nodes, including this one, that were found ahead since a moment that they
  /// have in common. For a node that sample() has just found ahead.
  [[nodiscard]] NodeSet ahead_with(int node) const {
    const Span& its = nodes_[static_cast<std::size_t>(node)].ahead;
    NodeSet most;
    for (const Node& one : nodes_) {
      // If spans have a moment in common, the beginning of one of them is such a moment.
      const Time moment = one.ahead.from;
      if (!its.has(moment)) continue;
      NodeSet together;
      for (int i = 0; i < max_nodes; ++i) {
        const Span& span = nodes_[static_cast<std::size_t>(i)].ahead;
        const bool at_once = !planted(Mutant::judged_once) || span.to == its.to;
        if (span.has(moment) && at_once) together.add(i);
      }
      if (together.size() > most.size()) most = together;
    }
    return most;
  }
  [[nodiscard]] double drift_factor() const { return drift_; }
  /// Forgets all samples, and ignores answers to anything asked until now. For use after our own
  /// clock has stood still.
  void restart(Time now) {
    nodes_.fill({});
    restarted_ = now;
  }
  /// Forgets this node's samples.
  void forget(int node) { nodes_[static_cast<std::size_t>(node)] = {}; }
  /// The least that the node's clock can show now, in us since 1970; zero if it was never read, or
  /// so long ago that the drift since then may be more than `most`.
  [[nodiscard]] std::int64_t at_least(Time now, int node, Duration most) const {
    const std::optional<Sample>& last = nodes_[static_cast<std::size_t>(node)].last;
    if (!last) return 0;
    const Duration since = now - last->received;
    if (static_cast<double>(since.count()) * drift_ > static_cast<double>(most.count())) return 0;
    return (last->node_time + least(since)) / std::chrono::microseconds(1);
  }
  /// The least that a node's clock advances while ours advances by `ours`.
  [[nodiscard]] Duration least(Duration ours) const {
    return Duration(static_cast<Duration::rep>(static_cast<double>(ours.count()) / (1 + drift_)));
  }

  /// How much faster than ours a node's clock runs (0.01: one per cent), plus or minus uncertainty.
  struct Drift {
    double rate;
    double uncertainty;
  };
  /// The drift between the first and the last sample of a span; unset if there are no two samples.
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
  /// A time interval, both ends included; empty until it is set.
  struct Span {
    Time from = never;
    Time to{};
    [[nodiscard]] bool has(Time moment) const { return from <= moment && moment <= to; }
  };
  struct Node {
    std::optional<Sample> last, anchor;
    Span ahead;  ///< when the node last got ahead of us
  };

  [[nodiscard]] std::optional<Duration> excess(const std::optional<Sample>& from,
                                               const Sample& to) const {
    // Two samples that overlap in time prove nothing.
    if (!from || to.asked < from->received) return std::nullopt;
    const Duration advance = to.node_time - from->node_time;
    const auto most = static_cast<double>((to.received - from->asked).count()) * (1 + drift_);
    const auto least = static_cast<double>((to.asked - from->received).count()) / (1 + drift_);
    const auto rounding = std::chrono::microseconds(1);  // the node's own clock is rounded
    const auto high = advance - Duration(static_cast<Duration::rep>(most)) - rounding;
    const auto low = advance - Duration(static_cast<Duration::rep>(least)) + rounding;
    if (high > Duration::zero()) return high;
    if (low < Duration::zero()) return low;
    return std::nullopt;
  }

  double drift_;
  Duration span_;
  Time restarted_ = Time::min();
  std::array<Node, max_nodes> nodes_{};
};

}  // namespace quorumlock::core
