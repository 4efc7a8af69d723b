#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <quorumlock/coordinator.hpp>

#include "signals.hpp"

namespace quorumlock::cli {

/// Looks at the nodes, once or again and again, until a signal asks this program to end.
class StatusWatch {
 public:
  StatusWatch(Coordinator& coordinator, Signals& signals)
      : coordinator_(coordinator), signals_(signals) {}

  /// Nothing where a signal came first. Throws Failure.
  std::optional<ClusterStatus> look();
  /// False where a signal came first.
  bool pause(std::chrono::milliseconds length);
  /// The signal that asked us to end; 0: none did.
  [[nodiscard]] int asked_to_end() const { return asked_; }

 private:
  Coordinator& coordinator_;
  Signals& signals_;
  int asked_ = 0;
};

}  // namespace quorumlock::cli
