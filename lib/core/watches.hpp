#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/acquisition.hpp"
#include "core/exchange.hpp"
#include "core/recently.hpp"

namespace quorumlock::core {

/// Unordered waiting: attempts follow each other, and a release brings the next one forward.
class Watches {
 public:
  Watches(Exchange& exchange, Waiters& waiters) : exchange_(exchange), waiters_(waiters) {}

  /// Subscribes an unordered waiter to releases.
  void watch(WaiterId id);
  void drop(WaiterId id);
  /// Notes whether a try that a release has brought about was won.
  void judge_wake(Acquisition& acquisition, bool won);
  /// Whether an unordered waiter is to enter the line after a while: waiters in the line hand the
  /// lock to each other, so it would get the lock only when the line is empty. Not if it acquires
  /// with a plain SET, which does not look at the line.
  [[nodiscard]] bool turn_has_come(Time now, const Acquisition& acquisition) const;
  /// Wakes an unordered waiter after a release: at most one in each process, not all processes at
  /// the same moment, and only a few out of a crowd.
  void on_freed(Time now, int node, std::string_view key);
  /// Unordered waiters that found no quorum need not pause any longer. As there may be many, they
  /// are spread at 50,000 a second. O(waiters).
  void on_quorum_back(Time now);
  /// Forgets what this node has reported.
  void forget_node(int node) {
    for (auto& [key, watch] : watches_) watch.free.remove(node);
  }

 private:
  /// The unordered waiters of this process for one lock.
  struct Watch {
    std::vector<WaiterId> waiters;
    NodeSet free;  ///< nodes that have reported a release since the last waking
  };

  Exchange& exchange_;
  Waiters& waiters_;
  std::map<std::string, Watch, std::less<>> watches_;
  Crowds crowds_;
};

}  // namespace quorumlock::core
