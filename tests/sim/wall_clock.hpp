#pragma once

#include <chrono>
#include <cstdint>

namespace quorumlock::sim {

/// Nanoseconds since the simulation began; no machine of the simulation can read it.
using TrueTime = std::chrono::nanoseconds;

/// A machine's time of day, which may be wrong, drift and jump.
class WallClock {
 public:
  /// Shows `offset` (since 1970) at true time zero.
  explicit WallClock(std::chrono::nanoseconds offset = {}, double rate = 1)
      : shown_(offset), rate_(rate) {}

  [[nodiscard]] std::chrono::nanoseconds at(TrueTime now) const {
    // Only the gain goes through the double, which has no room for nanoseconds since 1970.
    const TrueTime passed = now - since_;
    const double gained = static_cast<double>(passed.count()) * (rate_ - 1);
    return shown_ + passed + std::chrono::nanoseconds(static_cast<std::int64_t>(gained));
  }
  /// Sets how fast it runs from now on; 1.01 gains one second in a hundred.
  void set_rate(double rate, TrueTime now) {
    shown_ = at(now);
    since_ = now;
    rate_ = rate;
  }
  void step(std::chrono::nanoseconds by) { shown_ += by; }
  [[nodiscard]] double rate() const { return rate_; }

 private:
  TrueTime since_{};
  std::chrono::nanoseconds shown_;
  double rate_;
};

}  // namespace quorumlock::sim
