#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <quorumlock/detail/export.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// Durations, with a histogram of fixed bounds.
struct QUORUMLOCK_EXPORT DurationStats {
  std::uint64_t count = 0;             ///< how many
  std::chrono::nanoseconds total{};    ///< their sum
  std::chrono::nanoseconds longest{};  ///< the longest of them
  /// The upper bounds of the histogram's buckets, from 100 us to 5 minutes.
  static constexpr std::array<std::chrono::nanoseconds, 19> bounds = {
      std::chrono::microseconds(100),  std::chrono::microseconds(250),
      std::chrono::microseconds(500),  std::chrono::milliseconds(1),
      std::chrono::microseconds(2500), std::chrono::milliseconds(5),
      std::chrono::milliseconds(10),   std::chrono::milliseconds(25),
      std::chrono::milliseconds(50),   std::chrono::milliseconds(100),
      std::chrono::milliseconds(250),  std::chrono::milliseconds(500),
      std::chrono::seconds(1),         std::chrono::milliseconds(2500),
      std::chrono::seconds(5),         std::chrono::seconds(10),
      std::chrono::seconds(30),        std::chrono::minutes(1),
      std::chrono::minutes(5)};
  /// [i]: longer than bounds[i - 1], and at most bounds[i]; the last one: longer than all bounds.
  std::array<std::uint64_t, bounds.size() + 1> histogram{};

  /// An upper bound of this share of the durations (0.99: 99 of 100). It is the upper bound of a
  /// bucket, or `longest` in the last bucket. Zero if there are no durations.
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept;
};

/// Acquisitions that ended without a lease, by the Errc that the caller got.
struct RefusedStats {
  std::uint64_t contended = 0;      ///< held by another
  std::uint64_t no_quorum = 0;      ///< too few nodes answered
  std::uint64_t timed_out = 0;      ///< the wait was over
  std::uint64_t cancelled = 0;      ///< cancelled by the caller
  std::uint64_t closed = 0;         ///< the coordinator was closed
  std::uint64_t misconfigured = 0;  ///< the nodes contradict the options
};

/// How many times nodes gave each vote.
class VoteCounts {
 public:
  /// The count of one vote.
  [[nodiscard]] std::uint64_t operator[](Vote vote) const noexcept {
    return counts_[static_cast<std::size_t>(vote)];
  }
  [[nodiscard]] std::uint64_t& operator[](Vote vote) noexcept {
    return counts_[static_cast<std::size_t>(vote)];
  }
  /// Adds the counts of others.
  VoteCounts& operator+=(const VoteCounts& more) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
    return *this;
  }
  /// Calls visit(vote, count) for each vote in the order of the enumeration.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Vote::bad_counter); ++i) {
      visit(static_cast<Vote>(i), counts_[i]);
    }
  }
  bool operator==(const VoteCounts&) const = default;

 private:
  /// There is room for votes of later versions, so that a new one moves nothing in Stats.
  std::array<std::uint64_t, 48> counts_{};
};

/// One node as this coordinator's own requests have found it.
struct NodeStats {
  std::string node = {};   ///< the same text as NodeStatus::node
  std::string group = {};  ///< the group that it votes in; empty if there are no groups
  bool counts = false;     ///< whether it is connected, and its votes count now
  VoteCounts votes{};      ///< its votes, or why it gave none, since it is in the list of nodes
};

/// A coordinator's counts for the resources of one class (Options::resource_classes).
struct ClassStats {
  std::string prefix;          ///< the beginning of their names; empty: resources of no other class
  std::uint64_t acquired = 0;  ///< acquisitions that ended with a lease
  RefusedStats refused = {};   ///< acquisitions that ended without one
  std::uint64_t lost = 0;      ///< leases that could not be renewed
  DurationStats waits = {};    ///< waits as in Stats::waits
};

/// A coordinator's counts since it was created. The numbers of one loop are of one moment.
struct QUORUMLOCK_EXPORT Stats {
  /// Attempts at a lock, each with a token of its own. An acquisition makes one or more.
  std::uint64_t attempts = 0;
  /// Acquisitions that ended with a lease.
  std::uint64_t acquired = 0;
  /// Acquisitions that ended without a lease, by the Errc that the caller got.
  using Refused = RefusedStats;
  Refused refused;  ///< the counts
  /// The waits, won or lost, of acquisitions that did not get the lock at their first attempt,
  /// measured from the call.
  DurationStats waits;
  /// Waits that were won, by the cause of the attempt that won.
  struct WonAfter {
    /// Another holder in this process handed the lock over, in one write.
    std::uint64_t hand_over = 0;
    std::uint64_t message = 0;  ///< a node's message that the lock is free
    std::uint64_t look = 0;     ///< its own look at the line, or another try after a pause
  } won_after;                  ///< the counts
  /// Operations that succeeded and nearly failed.
  struct NearMisses {
    std::uint64_t bare_quorum = 0;    ///< acquired when one more refusal would have lost it
    std::uint64_t acquired_late = 0;  ///< acquired with less than a tenth of the ttl left
    std::uint64_t renewed_late = 0;   ///< renewed with less than a tenth of the ttl left
  } near_misses;                      ///< the counts
  std::uint64_t renewals = 0;         ///< renewals by the watchdog or by extend()
  std::uint64_t failed_renewals = 0;  ///< rounds; a later one may have succeeded
  std::uint64_t released = 0;         ///< leases that their holders gave back
  std::uint64_t expired = 0;          ///< leases that ran to their end
  std::uint64_t lost = 0;             ///< leases that could not be renewed
  std::uint64_t held = 0;             ///< leases held now
  std::uint64_t waiting = 0;          ///< acquisitions under way now
  /// The votes of nodes in rounds that were counted.
  VoteCounts votes{};
  /// How long before the end of their leases the renewals succeeded.
  DurationStats renewal_slack;
  /// The age of the oldest acquisition under way, counted from when it reached the loop; zero if
  /// there is none.
  std::chrono::nanoseconds oldest_wait{};
  /// The counts of each of Options::resource_classes, in that order, and then of the other
  /// resources. Empty without classes.
  std::vector<ClassStats> classes = {};
  /// The nodes of the present list, in its order; those of a group are adjacent.
  std::vector<NodeStats> nodes = {};

  /// How many times nodes gave this vote.
  [[nodiscard]] std::uint64_t count(Vote vote) const noexcept { return votes[vote]; }
  /// Acquisitions that ended without a lease.
  [[nodiscard]] std::uint64_t refusals() const noexcept {
    return refused.contended + refused.no_quorum + refused.timed_out + refused.cancelled +
           refused.closed + refused.misconfigured;
  }
};

}  // namespace quorumlock
