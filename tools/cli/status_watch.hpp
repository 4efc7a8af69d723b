#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <quorumlock/coordinator.hpp>

#include "signals.hpp"

namespace quorumlock::cli {

/// Asks the nodes for their status, once or repeatedly, until a signal asks this program to end.
class StatusWatch {
 public:
  StatusWatch(Coordinator& coordinator, Signals& signals)
      : coordinator_(coordinator), signals_(signals) {}

  /// Returns the status, or nothing if a signal came first. Throws Failure.
  std::optional<ClusterStatus> look();
  /// Waits for this long. Returns false if a signal came first.
  bool pause(std::chrono::milliseconds length);
  /// Returns the signal that asked us to end, or 0.
  [[nodiscard]] int asked_to_end() const { return asked_; }

 private:
  Coordinator& coordinator_;
  Signals& signals_;
  int asked_ = 0;
};

}  // namespace quorumlock::cli
