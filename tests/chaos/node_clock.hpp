#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/clock_setting.hpp"

namespace quorumlock::chaos {

/// The wall clock that one redis-server sees; we set it while the server runs or is down.
class NodeClock {
 public:
  /// Creates `file` for the clock.
  explicit NodeClock(const std::filesystem::path& file);
  NodeClock(const NodeClock&) = delete;
  NodeClock& operator=(const NodeClock&) = delete;
  ~NodeClock();

  /// Returns the environment variables with which the server sees this clock.
  [[nodiscard]] std::vector<std::string> environment() const;

  /// Lets `rate` seconds pass per second from now on, without a step.
  void run_at(double rate);
  /// Sets the clock forward or back at once.
  void step(std::chrono::nanoseconds by);

 private:
  std::filesystem::path file_;
  ClockSetting* setting_;
};

}  // namespace quorumlock::chaos
