#include <algorithm>
#include <bit>

#include "core/engine.hpp"

// Counts events in plain integers.
namespace quorumlock::core {
namespace {

void add_to(DurationStats& stats, Duration duration) {
  const Duration positive = std::max(duration, Duration::zero());
  ++stats.count;
  stats.total += positive;
  stats.longest = std::max<std::chrono::nanoseconds>(stats.longest, positive);
  const auto us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(positive).count());
  const auto bucket = static_cast<std::size_t>(std::bit_width(us));
  ++stats.histogram[std::min(bucket, stats.histogram.size() - 1)];
}

}  // namespace

void Engine::note_win(const Claim& claim, const Waiter& waiter) {
  ++stats_.acquired;
  const Tally& tally = claim.tally;
  const int possible = tally.granted_by().size() + tally.pending().size();
  if (possible == quorum_of(config_.nodes)) ++stats_.near_misses.bare_quorum;
  if (claim.deadline - now_ < claim.terms.ttl / 10) ++stats_.near_misses.acquired_late;
  if (!waiter.waits || waiter.attempts == 1) return;
  add_to(stats_.waits, now_ - waiter.began);
  switch (waiter.woken ? Cause::message : waiter.cause) {
    case Cause::hand_over: ++stats_.won_after.hand_over; break;
    case Cause::message: ++stats_.won_after.message; break;
    case Cause::look: ++stats_.won_after.look; break;
  }
}

void Engine::note_refusal(const Waiter& waiter, Errc why) {
  switch (why) {
    case Errc::contended: ++stats_.refused.contended; break;
    case Errc::no_quorum: ++stats_.refused.no_quorum; break;
    case Errc::timed_out: ++stats_.refused.timed_out; break;
    case Errc::cancelled: ++stats_.refused.cancelled; break;
    case Errc::closed: ++stats_.refused.closed; break;
    case Errc::misconfigured: ++stats_.refused.misconfigured; break;
    default: break;
  }
  const bool waited = waiter.attempts != 1 || waiter.place != 0 || waiter.watches;
  if (waiter.waits && waited) add_to(stats_.waits, now_ - waiter.began);
}

/// Counts a renewal; to be called before the claim's deadline is moved.
void Engine::note_renewal(const Claim& claim, bool won) {
  if (!won) {
    ++stats_.failed_renewals;
    return;
  }
  ++stats_.renewals;
  if (claim.deadline - now_ < claim.terms.ttl / 10) ++stats_.near_misses.renewed_late;
}

}  // namespace quorumlock::core
