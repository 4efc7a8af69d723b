#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "lock/mutants.hpp"
#include "lock/quorum.hpp"
#include "sim/server.hpp"
#include "sim/world/operation.hpp"

namespace quorumlock::sim {

/// Checks mutual exclusion in true time. At any instant a key has at most one valid handle, or only
/// readers, or no more holders of a semaphore than each of them believes it has permits. No lapsed
/// lease is renewed; and if no node lost anything, a valid handle has its token on a quorum of the
/// nodes until its very end.
class Exclusion {
 public:
  using Report = std::function<void(std::string)>;
  Exclusion(const std::deque<Operation>& operations, bool timing_holds, Report report)
      : operations_(operations), timing_holds_(timing_holds), report_(std::move(report)) {}

  /// Checks that no lock is granted after its end.
  void won(const Operation& one, core::Time now) {
    if (now >= one.deadline) {
      report_("operation " + std::to_string(one.number) + " was won after its end");
    }
  }
  /// Called when the lease has become valid, or valid for longer.
  void became_valid(const Operation& one, TrueTime now) {
    std::erase_if(held_, [this](std::size_t number) {
      return !operations_[number].held || operations_[number].dead;
    });
    held_.insert(one.number);
    if (!timing_holds_ || !one.valid(now)) return;
    int holders = 1;
    for (const std::size_t number : held_) {
      const Operation& other = operations_[number];
      if (other.number == one.number || !other.valid(now) || !one.shares_a_key_with(other))
        continue;
      if (one.shared && other.shared) continue;
      if (++holders <= std::min(one.capacity, other.capacity)) continue;
      if (one.capacity != 0) {
        report_(std::to_string(holders) + " holders of " + one.key + " with " +
                std::to_string(std::min(one.capacity, other.capacity)) + " permits");
        return;
      }
      report_("two holders of " + one.key + ": operations " + std::to_string(other.number) +
              " and " + std::to_string(one.number));
    }
  }
  /// Called for each counted renewal; `until` is the lease's end before the renewal.
  void renewed(const Operation& one, TrueTime until, TrueTime now) {
    if (now >= until) {
      report_("operation " + std::to_string(one.number) + " was renewed after its end");
    }
  }
  /// Called at the last moment of a valid handle, and at other moments.
  void witness(const Operation& one, const std::deque<Server>& nodes, TrueTime now) {
    // With these mutants a holder's token may be in any slot, or in another database.
    if (!one.valid(now) || core::planted(core::Mutant::naive_counting) ||
        core::planted(core::Mutant::names_without_a_database)) {
      return;
    }
    int witnesses = 0;
    for (const Server& node : nodes) {
      const auto keys = one.held_keys();
      const DatabaseView seen = node.at(now);
      const bool of_all = std::ranges::all_of(
          keys, [&](const std::string& key) { return seen.has_token(key, one.token); });
      if (of_all) ++witnesses;
    }
    if (witnesses < core::quorum_of(static_cast<int>(nodes.size()))) {
      report_("operation " + std::to_string(one.number) + " is valid with its token on " +
              std::to_string(witnesses) + " of " + std::to_string(nodes.size()) + " nodes");
    }
  }

 private:
  const std::deque<Operation>& operations_;
  bool timing_holds_;
  Report report_;
  std::set<std::size_t> held_;  ///< operations that were held when became_valid() was last called
};

}  // namespace quorumlock::sim
