#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/wall_clock.hpp"

namespace quorumlock::sim {

/// The true time, and the actions that are planned. Each action runs at its moment, and actions of
/// the same moment run in the order in which they were planned.
class Agenda {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] TrueTime now() const { return now_; }
  void at(TrueTime when, Action&& action);
  void after(TrueTime span, Action&& action) { at(now_ + span, std::move(action)); }
  /// Runs all actions that are planned until `end`, unless the agenda is stopped before that.
  void run_until(TrueTime end);
  /// After this call no action is run.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  struct Event {
    TrueTime when;
    std::uint64_t order;
    std::size_t action;  ///< its place in actions_
    bool operator<(const Event& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  TrueTime now_{};
  std::uint64_t events_planned_ = 0;
  std::priority_queue<Event> events_;
  std::vector<Action> actions_;           ///< the events' actions, and free places
  std::vector<std::size_t> free_places_;  ///< the free places in actions_
  bool stopped_ = false;
};

}  // namespace quorumlock::sim
