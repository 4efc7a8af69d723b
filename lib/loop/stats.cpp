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

}  // namespace

void set_oldest_wait(Stats& stats, core::Time since, core::Time now) {
  stats.oldest_wait = since < now ? now - since : core::Duration::zero();
}

void add(Stats& into, const Stats& more) {
  into.attempts += more.attempts;
  into.acquired += more.acquired;
  into.refused.contended += more.refused.contended;
  into.refused.no_quorum += more.refused.no_quorum;
  into.refused.timed_out += more.refused.timed_out;
  into.refused.cancelled += more.refused.cancelled;
  into.refused.closed += more.refused.closed;
  into.refused.misconfigured += more.refused.misconfigured;
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
  for (std::size_t i = 0; i < into.votes.size(); ++i) into.votes[i] += more.votes[i];
  add(into.renewal_slack, more.renewal_slack);
  into.oldest_wait = std::max(into.oldest_wait, more.oldest_wait);
}

}  // namespace detail
}  // namespace quorumlock
