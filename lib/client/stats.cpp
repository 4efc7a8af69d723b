#include <quorumlock/stats.hpp>

namespace quorumlock {

std::chrono::nanoseconds DurationStats::percentile(double share) const noexcept {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    below += histogram[i];
    if (count > 0 && static_cast<double>(below) >= share * static_cast<double>(count)) {
      return i + 1 < histogram.size() ? std::chrono::microseconds(std::int64_t{1} << i) : longest;
    }
  }
  return {};
}

}  // namespace quorumlock
