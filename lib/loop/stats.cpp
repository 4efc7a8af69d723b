#include "loop/stats.hpp"

#include <algorithm>

namespace quorumlock {

std::chrono::nanoseconds DurationStats::percentile(double share) const noexcept {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    below += histogram[i];
    if (count > 0 && static_cast<double>(below) >= share * static_cast<double>(count)) {
      return i < bounds.size() ? bounds[i] : longest;
    }
  }
  return {};
}

namespace detail {
namespace {

void add(DurationStats& into, const DurationStats& more) {
  into.count += more.count;
  into.total += more.total;
  into.longest = std::max(into.longest, more.longest);
  for (std::size_t i = 0; i < into.histogram.size(); ++i) into.histogram[i] += more.histogram[i];
}

void add(RefusedStats& into, const RefusedStats& more) {
  into.contended += more.contended;
  into.no_quorum += more.no_quorum;
  into.timed_out += more.timed_out;
  into.cancelled += more.cancelled;
  into.closed += more.closed;
  into.misconfigured += more.misconfigured;
}

/// Loops of one group have the same nodes, except for a moment when their list is replaced. A
/// node's votes count if they do on every loop that has it.
void add(std::vector<NodeStats>& into, const NodeStats& more) {
  const auto found = std::ranges::find_if(into, [&more](const NodeStats& one) {
    return one.node == more.node && one.group == more.group;
  });
  if (found == into.end()) {
    into.push_back(more);
    return;
  }
  found->counts = found->counts && more.counts;
  found->votes += more.votes;
}

void add(ClassStats& into, const ClassStats& more) {
  into.acquired += more.acquired;
  add(into.refused, more.refused);
  into.lost += more.lost;
  add(into.waits, more.waits);
}

}  // namespace

void set_oldest_wait(Stats& stats, core::Time since, core::Time now) {
  stats.oldest_wait = since < now ? now - since : core::Duration::zero();
}

void name_nodes(Stats& stats, const NodeList& list, const std::string& group) {
  std::vector<NodeStats> named;
  for (const NodeList::Node& node : list) {
    const auto at = static_cast<std::size_t>(node.number);
    NodeStats& one = named.emplace_back();
    if (at < stats.nodes.size()) one = stats.nodes[at];
    one.node = node.name;
    one.group = group;
  }
  stats.nodes = std::move(named);
}

void add(Stats& into, const Stats& more) {
  into.attempts += more.attempts;
  into.acquired += more.acquired;
  add(into.refused, more.refused);
  add(into.waits, more.waits);
  into.won_after.hand_over += more.won_after.hand_over;
  into.won_after.message += more.won_after.message;
  into.won_after.look += more.won_after.look;
  into.near_misses.bare_quorum += more.near_misses.bare_quorum;
  into.near_misses.acquired_late += more.near_misses.acquired_late;
  into.near_misses.renewed_late += more.near_misses.renewed_late;
  into.renewals += more.renewals;
  into.failed_renewals += more.failed_renewals;
  into.released += more.released;
  into.expired += more.expired;
  into.lost += more.lost;
  into.held += more.held;
  into.waiting += more.waiting;
  into.votes += more.votes;
  for (const NodeStats& one : more.nodes) add(into.nodes, one);
  add(into.renewal_slack, more.renewal_slack);
  into.oldest_wait = std::max(into.oldest_wait, more.oldest_wait);
  into.classes.resize(std::max(into.classes.size(), more.classes.size()));
  for (std::size_t i = 0; i < more.classes.size(); ++i) {
    into.classes[i].prefix = more.classes[i].prefix;  // all loops have the same classes
    add(into.classes[i], more.classes[i]);
  }
}

}  // namespace detail
}  // namespace quorumlock
