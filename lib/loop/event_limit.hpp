#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <quorumlock/event.hpp>

#include "lock/types.hpp"

namespace quorumlock::detail {

/// Bounds how many events of one kind about one node are passed on.
///
/// In each window the first `most` are passed on. Of those that follow in it only the last is kept;
/// it is passed on when the window is over, with the number of the others, which were left out, and
/// begins the next window. So the last state of a node that flaps is always reported, and no event
/// goes uncounted. One event is kept for each node and kind at most.
///
/// A node's window is a minute: what is wrong with a node may repeat about once a second, for days.
///
/// Making every event of a lock could cost more than the lock itself. So if there are too many of
/// them, the first one is kept instead of the last: see leaves_out().
class EventLimit {
 public:
  static constexpr int no_node = -1;
  static constexpr int most = 20;
  static constexpr core::Duration window_of(int node) {
    return node == no_node ? core::Duration(std::chrono::seconds(1)) : std::chrono::minutes(1);
  }

  /// Whether this event may be passed on now; otherwise it is kept. `node` is the node's number, or
  /// no_node.
  bool admits(core::Time now, int node, Event& event);
  /// Whether an event about no node need not be made, since one of its kind is kept, which then
  /// counts it.
  bool leaves_out(EventKind kind);
  /// When the next kept event may be passed on; `never` if there is none.
  [[nodiscard]] core::Time deadline() const { return due_; }
  /// Takes a kept event whose window is over by `now`; nothing if there is none. With `never`, any
  /// kept event.
  std::optional<Event> next(core::Time now);

 private:
  struct Window {
    core::Time begin{};
    int passed = 0;
    std::optional<Event> kept;
  };
  void find_due();

  std::map<std::pair<int, EventKind>, Window> windows_;
  core::Time due_ = core::never;
};

}  // namespace quorumlock::detail
