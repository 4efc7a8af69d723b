#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "sim/world/operation.hpp"

namespace quorumlock::sim {

/// A holder is told before its lease ends, by the named margin and on its own clock, unless it was
/// itself stopped across that moment; a wait ends when it is to end; every call is answered once.
class Telling {
 public:
  using Report = std::function<void(std::string)>;
  explicit Telling(Report report) : report_(std::move(report)) {}

  /// `awake`: since when, on its clock, the client has not been stopped.
  void at_risk(const Operation& one, core::Time now, core::Time awake) {
    const core::Time due = due_of(one);
    if (awake <= due && now > due + slack) late(one, now - due);
  }
  void ended(const Operation& one, core::Time now, core::Time awake) {
    const core::Time due = due_of(one);
    if (!one.told && awake <= due && now > due + slack) late(one, now - due);
  }
  void answered(const Operation& one) {
    if (one.answers > 1) report_("operation " + std::to_string(one.number) + " was answered twice");
  }
  void refused(const Operation& one, core::Time now, core::Time awake) {
    const core::Time due = core::later(one.requested, one.wait);
    if (one.wait > core::Duration::zero() && awake <= due && now > due + slack) {
      report_("operation " + std::to_string(one.number) + " waited beyond its wait");
    }
  }
  void at_the_end(const Operation& one) {
    if (one.answers == 0 && !one.dead) {
      report_("operation " + std::to_string(one.number) + " was never answered");
    }
  }

 private:
  /// At once where it was won with less than the margin left.
  static core::Time due_of(const Operation& one) {
    return std::max(one.deadline - one.terms.stop_margin, one.acquired);
  }
  static constexpr core::Duration slack = std::chrono::microseconds(1);
  void late(const Operation& one, core::Duration by) {
    report_("operation " + std::to_string(one.number) + " was told to stop " +
            std::to_string(by.count()) + " ns late");
  }
  Report report_;
};

}  // namespace quorumlock::sim
