#pragma once

#include <string>
#include <vector>

#include <quorumlock/clock.hpp>

namespace flash_sale {

using Duration = quorumlock::Clock::duration;

/// Some durations, sorted.
class Figures {
 public:
  explicit Figures(std::vector<Duration> durations);

  [[nodiscard]] std::size_t count() const { return sorted_.size(); }
  /// Returns the least duration that `percent` per cent do not exceed; zero if there are none.
  [[nodiscard]] Duration percentile(int percent) const;
  /// Returns "min 0.41 ms, median 1.2 ms, max 63 ms".
  [[nodiscard]] std::string spread() const;
  /// Returns "p50 0.41 ms, p99 1.2 ms".
  [[nodiscard]] std::string tail() const;

 private:
  std::vector<Duration> sorted_;
};

/// Returns "0.41 ms", "63 ms", "1.24 s".
std::string to_text(Duration duration);
/// Returns "1 phone", "2 phones".
std::string counted(int count, const std::string& thing);

}  // namespace flash_sale
