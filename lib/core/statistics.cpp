#include "core/statistics.hpp"

#include <algorithm>
#include <bit>

namespace quorumlock::core {

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

}  // namespace quorumlock::core
