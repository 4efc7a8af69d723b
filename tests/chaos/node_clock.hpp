#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/clock_setting.hpp"

namespace quorumlock::chaos {

/// The wall clock that one redis-server sees, and that we set while it runs and while it does not.
class NodeClock {
 public:
  /// In a file that is made here.
  explicit NodeClock(const std::filesystem::path& file);
  NodeClock(const NodeClock&) = delete;
  NodeClock& operator=(const NodeClock&) = delete;
  ~NodeClock();

  /// What the server needs in its environment to see this clock.
  [[nodiscard]] std::vector<std::string> environment() const;

  /// From now on so many seconds a second, without a step.
  void run_at(double rate);
  /// At once so much further, or back.
  void step(std::chrono::nanoseconds by);

 private:
  std::filesystem::path file_;
  ClockSetting* setting_;
};

}  // namespace quorumlock::chaos
