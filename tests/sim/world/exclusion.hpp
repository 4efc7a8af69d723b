#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>

#include "core/mutants.hpp"
#include "core/quorum.hpp"
#include "sim/server.hpp"
#include "sim/world/operation.hpp"

namespace quorumlock::sim {

/// At most one valid handle of a key at any instant of true time, or readers alone, of a semaphore
/// as many as it has permits, by the word of each of their holders; none that lapsed is renewed;
/// and, where no node lost anything, a valid handle has its token on a quorum of the nodes until
/// its very end.
class Exclusion {
 public:
  using Report = std::function<void(std::string)>;
  Exclusion(const std::deque<Operation>& operations, bool timing_holds, Report report)
      : operations_(operations), timing_holds_(timing_holds), report_(std::move(report)) {}

  /// Nobody is given a lock that has ended already.
  void won(const Operation& one, core::Time now) {
    if (now >= one.deadline) {
      report_("operation " + std::to_string(one.number) + " was won after its end");
    }
  }
  /// It has become valid, or valid for longer.
  void became_valid(const Operation& one, TrueTime now) {
    if (!timing_holds_ || !one.valid(now)) return;
    int holders = 1;
    for (const Operation& other : operations_) {
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
  /// A renewal has been counted; `until` is the end before it.
  void renewed(const Operation& one, TrueTime until, TrueTime now) {
    if (now >= until) {
      report_("operation " + std::to_string(one.number) + " was renewed after its end");
    }
  }
  /// At the last moment of a valid handle, or any other.
  void witness(const Operation& one, const std::deque<Server>& nodes, TrueTime now) {
    // Whoever counts has its token in any slot.
    if (!one.valid(now) || core::planted(core::Mutant::naive_counting)) return;
    int witnesses = 0;
    for (const Server& node : nodes) {
      const auto keys = one.held_keys();
      const bool of_all = std::ranges::all_of(
          keys, [&](const std::string& key) { return node.has_token(key, one.token, now); });
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
};

}  // namespace quorumlock::sim
