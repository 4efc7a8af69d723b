#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <quorumlock/export.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// A histogram of durations in powers of two.
struct QUORUMLOCK_EXPORT DurationStats {
  std::uint64_t count = 0;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds longest{};
  /// [0]: less than 1 us; [i]: from 2^(i-1) us to less than 2^i us; the last one: everything
  /// longer.
  std::array<std::uint64_t, 32> histogram{};

  /// An upper bound of this share of the durations (0.99: 99 of 100). It is the upper end of a
  /// bucket, so up to twice the true value, or `longest` in the last bucket. Zero if there are no
  /// durations.
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept;
};

/// What a coordinator has done since it was created. The numbers of one loop are of one moment.
struct QUORUMLOCK_EXPORT Stats {
  /// Attempts at a lock, each with a token of its own. An acquisition makes one or more.
  std::uint64_t attempts = 0;
  /// Acquisitions that ended with a lease.
  std::uint64_t acquired = 0;
  /// Acquisitions that ended without a lease, by the Errc that the caller got.
  struct Refused {
    std::uint64_t contended = 0;
    std::uint64_t no_quorum = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t closed = 0;
    std::uint64_t misconfigured = 0;
  } refused;
  /// The waits, won or lost, of acquisitions that did not get the lock at their first attempt,
  /// measured from the call.
  DurationStats waits;
  /// Waits that were won, by the cause of the attempt that won.
  struct WonAfter {
    std::uint64_t hand_over = 0;  ///< from another holder in this process, in one write
    std::uint64_t message = 0;    ///< a node's message that the lock is free
    std::uint64_t look = 0;       ///< its own look at the line, or another try after a pause
  } won_after;
  /// Operations that succeeded and nearly failed.
  struct NearMisses {
    std::uint64_t bare_quorum = 0;    ///< acquired when one more refusal would have lost it
    std::uint64_t acquired_late = 0;  ///< acquired with less than a tenth of the ttl left
    std::uint64_t renewed_late = 0;   ///< renewed with less than a tenth of the ttl left
  } near_misses;
  std::uint64_t renewals = 0;         ///< by the watchdog or by extend()
  std::uint64_t failed_renewals = 0;  ///< rounds; a later one may have succeeded
  std::uint64_t released = 0;
  std::uint64_t expired = 0;  ///< leases that ran to their end
  std::uint64_t lost = 0;     ///< leases that could not be renewed
  /// The votes of nodes in rounds that were counted, by the number of the Vote.
  std::array<std::uint64_t, static_cast<std::size_t>(Vote::failed) + 1> votes{};

  [[nodiscard]] std::uint64_t count(Vote vote) const noexcept {
    return votes[static_cast<std::size_t>(vote)];
  }
  /// Acquisitions that ended without a lease.
  [[nodiscard]] std::uint64_t refusals() const noexcept {
    return refused.contended + refused.no_quorum + refused.timed_out + refused.cancelled +
           refused.closed + refused.misconfigured;
  }
};

}  // namespace quorumlock
