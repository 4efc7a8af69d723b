#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/data_commands.hpp"
#include "sim/world/operation.hpp"

namespace quorumlock::sim {

/// Checks the fencing tokens: they are unique; of attempts that do not overlap, the later one has
/// the greater token; if timing holds, they grow in the order of holding, in which readers have no
/// order among themselves. A node's counter never goes back.
class Fencing {
 public:
  using Report = std::function<void(std::string)>;
  Fencing(bool counters_hold, bool timing_holds, Report report)
      : counters_hold_(counters_hold), timing_holds_(timing_holds), report_(std::move(report)) {}

  /// Called when an attempt that began at `began` is decided.
  void decided(const Operation& one, TrueTime began, TrueTime now) {
    for (const std::string& key : one.keys()) decided(one, key, began, now);
  }
  void decided(const Operation& one, const std::string& name, TrueTime began, TrueTime now) {
    if (!counters_hold_) return;
    Key& key = keys_[name];
    if (!key.given.insert(one.fence).second) {
      report_("fencing token " + std::to_string(one.fence) + " of " + name +
              " was given twice, the second time to operation " + std::to_string(one.number));
    }
    const auto after = std::ranges::upper_bound(key.greatest, began, {}, &Greatest::since);
    const std::uint64_t before = after == key.greatest.begin() ? 0 : std::prev(after)->fence;
    const std::uint64_t greatest = key.greatest.empty() ? 0 : key.greatest.back().fence;
    const std::uint64_t last = one.shared ? key.written : greatest;
    // An attempt decided at the very moment at which this one began does not count as before it.
    const bool strictly = after == key.greatest.begin() || std::prev(after)->since < began;
    // Several clients hold a semaphore at once, in no order.
    const bool by_turns = timing_holds_ && one.capacity == 0;
    if ((strictly && one.fence <= before) || (by_turns && one.fence <= last)) {
      report_("operation " + std::to_string(one.number) + " got the fencing token " +
              std::to_string(one.fence) + " of " + name + " after " +
              std::to_string(std::max(before, by_turns ? last : 0)));
    }
    key.greatest.push_back({now, std::max(greatest, one.fence)});
    if (!one.shared) key.written = std::max(key.written, one.fence);
  }
  /// Called after each command that a node has executed, with the number of the key's lock.
  void counter(int node, std::size_t lock, const std::string& key, const std::string& text) {
    Counter& last = counters_[{node, lock}];
    if (last.text == text) return;
    const std::int64_t value = data::whole_number(text).value();
    if (counters_hold_ && value < last.value) {
      report_("the counter of " + key + " went back at node " + std::to_string(node + 1));
    }
    last = {text, value};
  }
  /// Called when a counter is not there. It may come back with the token of a lease that lives,
  /// which is above all that were given before, but not above a vote that decided nothing.
  void expired(int node, std::size_t lock) { counters_.erase({node, lock}); }
  /// Called when the order of tokens depends on the nodes' clocks from now on.
  void rests_on_clocks() { counters_hold_ = false; }
  void forgot(int node) {
    std::erase_if(counters_, [node](const auto& one) { return one.first.first == node; });
  }

 private:
  struct Greatest {
    TrueTime since;
    std::uint64_t fence;
  };
  struct Key {
    std::set<std::uint64_t> given;
    std::vector<Greatest> greatest;  ///< the greatest token decided until each moment
    std::uint64_t written = 0;       ///< the greatest token of a writer
  };
  struct Counter {
    std::string text;
    std::int64_t value = 0;
  };
  bool counters_hold_;
  bool timing_holds_;
  Report report_;
  std::map<std::string, Key> keys_;
  std::map<std::pair<int, std::size_t>, Counter> counters_;  ///< by node and lock
};

}  // namespace quorumlock::sim
