#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "lock/output.hpp"
#include "sim/world/operation.hpp"

namespace quorumlock::sim {

/// Checks that users are notified in time: a holder learns that its lease is at risk, by its own
/// clock, at the latest stop_margin before the lease ends, unless its process was stopped across
/// that moment; a wait ends at its limit; every call is answered once.
class Telling {
 public:
  using Report = std::function<void(std::string)>;
  explicit Telling(Report report) : report_(std::move(report)) {}

  /// `awake` is the time on its own clock since which the client has not been stopped.
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
  /// A request that does not wait may be queued by its client for `send_within`, and no longer. A
  /// shorter wait does not cut the first attempt short, or an attempt at another permit.
  void refused(const Operation& one, const core::Refused& how, core::Duration send_within,
               core::Time now, core::Time awake) {
    const bool waits = one.wait > core::Duration::zero();
    const std::string name = "operation " + std::to_string(one.number);
    const core::Time due = core::later(one.requested, waits ? one.wait : send_within);
    const bool goes_on = one.wait < send_within && (how.attempts == 1 || one.capacity != 0);
    if ((how.unsent || (waits && !goes_on)) && awake <= due && now > due + slack) {
      report_(name + " waited beyond its wait");
    }
    if (how.unsent && (how.why != Errc::timed_out || how.attempts != 0 || now < due)) {
      report_(name + " is refused as never sent, and was or could still have been");
    }
    const bool ran_out = how.why == Errc::contended || how.why == Errc::no_quorum;
    if (!how.unsent && how.attempts == 0 && ran_out) {
      report_(name + " is refused with answers of nodes that were never asked");
    }
  }
  void at_the_end(const Operation& one) {
    if (one.answers == 0 && !one.dead) {
      report_("operation " + std::to_string(one.number) + " was never answered");
    }
  }

 private:
  /// The time at which the holder is due to stop: at once if the lock was won with less than the
  /// margin left.
  static core::Time due_of(const Operation& one) {
    return std::max(one.deadline - one.terms.stop_margin, one.acquired);
  }
  static constexpr core::Duration slack = std::chrono::microseconds(1);
  void late(const Operation& one, core::Duration by) {
    report_("operation " + std::to_string(one.number) + " was notified " +
            std::to_string(by.count()) + " ns late");
  }
  Report report_;
};

}  // namespace quorumlock::sim
