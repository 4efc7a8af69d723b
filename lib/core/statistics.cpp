#include "core/statistics.hpp"

#include <algorithm>

#include "core/quorum.hpp"

namespace quorumlock::core {
namespace {

void add_to(DurationStats& stats, Duration duration) {
  const Duration positive = std::max(duration, Duration::zero());
  ++stats.count;
  stats.total += positive;
  stats.longest = std::max<std::chrono::nanoseconds>(stats.longest, positive);
  const auto* const bound = std::ranges::lower_bound(DurationStats::bounds, positive);
  ++stats.histogram[static_cast<std::size_t>(bound - DurationStats::bounds.begin())];
}

void count_refusal(Stats& stats, Errc why) {
  switch (why) {
    case Errc::contended: ++stats.refused.contended; break;
    case Errc::no_quorum: ++stats.refused.no_quorum; break;
    case Errc::timed_out: ++stats.refused.timed_out; break;
    case Errc::cancelled: ++stats.refused.cancelled; break;
    case Errc::closed: ++stats.refused.closed; break;
    case Errc::misconfigured: ++stats.refused.misconfigured; break;
    default: break;
  }
}

}  // namespace

void note_win(Stats& stats, Time now, const Claim& claim, const Acquisition& acquisition) {
  ++stats.acquired;
  const Tally& tally = claim.round.tally;
  const int possible = tally.granted_by().size() + tally.pending().size();
  if (possible == tally.needed()) ++stats.near_misses.bare_quorum;
  if (claim.deadline - now < claim.terms.ttl / 10) ++stats.near_misses.acquired_late;
  if (!acquisition.waits || acquisition.attempts == 1) return;
  add_to(stats.waits, now - acquisition.began);
  const Unordered* const unordered = acquisition.unordered();
  const bool woken = unordered != nullptr && unordered->woken;
  switch (woken ? Cause::message : acquisition.cause) {
    case Cause::hand_over: ++stats.won_after.hand_over; break;
    case Cause::message: ++stats.won_after.message; break;
    case Cause::look: ++stats.won_after.look; break;
  }
}

void note_refusal(Stats& stats, Time now, const Acquisition& acquisition, Errc why) {
  count_refusal(stats, why);
  const Unordered* const unordered = acquisition.unordered();
  const bool watches = unordered != nullptr && unordered->watches;
  const bool waited = acquisition.attempts != 1 || acquisition.place() != 0 || watches;
  if (acquisition.waits && waited) add_to(stats.waits, now - acquisition.began);
}

bool note_renewal(Stats& stats, Time now, const Claim& claim, bool won) {
  if (!won) {
    ++stats.failed_renewals;
    return false;
  }
  ++stats.renewals;
  add_to(stats.renewal_slack, claim.deadline - now);
  const bool late = claim.deadline - now < claim.terms.ttl / 10;
  if (late) ++stats.near_misses.renewed_late;
  return late;
}

}  // namespace quorumlock::core
