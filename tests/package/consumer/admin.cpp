// Uses the component admin: what an operator's program finds out about nodes that do not exist.

#include <quorumlock/admin.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace {

int failures = 0;

void must_hold(bool held, const std::string& what) {
  if (held) return;
  ++failures;
  std::cerr << "not as expected: " << what << '\n';
}

}  // namespace

int main() {
  using quorumlock::Errc;

  quorumlock::Options options;
  options.nodes = {"unix:///nowhere/1", "unix:///nowhere/2", "unix:///nowhere/3"};
  options.node_timeout = options.connect_timeout = std::chrono::seconds(1);
  auto coordinator = quorumlock::create_enrolling(options);
  must_hold(coordinator.has_value(), "a coordinator without a node in reach");

  const auto status = coordinator->status();
  must_hold(status && !quorumlock::findings_of(*status).empty(), "findings");
  const auto locks = quorumlock::list_locks(*coordinator);
  must_hold(!locks && locks.error().code() == Errc::no_quorum, "a list of the locks");
  const auto enrolled = quorumlock::enroll_new(*coordinator);
  must_hold(!enrolled && enrolled.error().code() == Errc::no_quorum, "an enrolment");
  const auto forgotten = quorumlock::forget_counters(*coordinator, {"orders:42"});
  must_hold(!forgotten && forgotten.error().code() == Errc::no_quorum, "counters to be forgotten");
  must_hold(quorumlock::vouch_for_nodes(*coordinator).has_value(), "the operator's word");

  auto change = quorumlock::MembersChange::open(options);
  must_hold(change.has_value(), "a change of the list");
  const auto reports = change->look();
  must_hold(
      reports && reports->front().members.front().state == quorumlock::MemberState::unreachable,
      "a report of the list");
  return failures == 0 ? 0 : 1;
}
