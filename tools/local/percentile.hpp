#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quorumlock::local {

/// Returns the value below which this share of the samples lies, in microseconds; 0 for no samples.
inline double percentile_us(std::vector<std::uint32_t> samples_ns, double share) {
  if (samples_ns.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(samples_ns.size() - 1));
  std::nth_element(samples_ns.begin(), samples_ns.begin() + rank, samples_ns.end());
  return samples_ns[static_cast<std::size_t>(rank)] / 1e3;
}

}  // namespace quorumlock::local
