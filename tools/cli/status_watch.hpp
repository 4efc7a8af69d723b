#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <quorumlock/coordinator.hpp>

#include "meanwhile.hpp"
#include "nodes_watch.hpp"
#include "signals.hpp"

namespace quorumlock::cli {

/// Asks the nodes for their status, once or repeatedly, until a signal asks this program to end.
class StatusWatch {
 public:
  /// `meanwhile` is done while it waits.
  StatusWatch(Coordinator& coordinator, Signals& signals, NodesWatch* nodes = nullptr,
              Meanwhile meanwhile = never_again)
      : coordinator_(coordinator),
        signals_(signals),
        nodes_(nodes),
        meanwhile_(std::move(meanwhile)) {}

  /// Returns the status, or nothing if a signal came first. Throws Failure.
  std::optional<ClusterStatus> look();
  /// Waits for this long. Returns false if a signal came first.
  bool pause(std::chrono::milliseconds length);
  /// Returns the signal that asked us to end, or 0.
  [[nodiscard]] int asked_to_end() const { return asked_; }

 private:
  /// Handles the signals that came. Returns whether one of them asked us to end: SIGHUP asks to
  /// read the configuration file again, if there is one.
  bool take_signals();

  Coordinator& coordinator_;
  Signals& signals_;
  NodesWatch* nodes_;
  Meanwhile meanwhile_;
  int asked_ = 0;
};

}  // namespace quorumlock::cli
