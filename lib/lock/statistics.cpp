#include "lock/statistics.hpp"

#include <algorithm>

#include "lock/quorum.hpp"

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

void count_refusal(RefusedStats& refused, Errc why) {
  switch (why) {
    case Errc::contended: ++refused.contended; break;
    case Errc::no_quorum: ++refused.no_quorum; break;
    case Errc::timed_out: ++refused.timed_out; break;
    case Errc::cancelled: ++refused.cancelled; break;
    case Errc::closed: ++refused.closed; break;
    case Errc::misconfigured: ++refused.misconfigured; break;
    default: break;
  }
}

}  // namespace

void note_win(Stats& stats, ClassStats* its_class, Time now, const Claim& claim,
              const Acquisition& acquisition) {
  ++stats.acquired;
  if (its_class != nullptr) ++its_class->acquired;
  const Tally& tally = claim.round.tally;
  const int possible = tally.granted_by().size() + tally.pending().size();
  if (possible == tally.needed()) ++stats.near_misses.bare_quorum;
  if (claim.deadline - now < claim.terms.ttl / 10) ++stats.near_misses.acquired_late;
  if (!acquisition.waits || acquisition.attempts == 1) return;
  add_to(stats.waits, now - acquisition.began);
  if (its_class != nullptr) add_to(its_class->waits, now - acquisition.began);
  switch (acquisition.cause) {
    case Cause::hand_over: ++stats.won_after.hand_over; break;
    case Cause::message: ++stats.won_after.message; break;
    case Cause::look: ++stats.won_after.look; break;
  }
}

void note_refusal(Stats& stats, ClassStats* its_class, Time now, const Acquisition& acquisition,
                  Errc why) {
  count_refusal(stats.refused, why);
  if (its_class != nullptr) count_refusal(its_class->refused, why);
  const bool waited = acquisition.attempts != 1 || acquisition.place() != 0 || acquisition.pausing;
  if (!acquisition.waits || !waited) return;
  add_to(stats.waits, now - acquisition.began);
  if (its_class != nullptr) add_to(its_class->waits, now - acquisition.began);
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
