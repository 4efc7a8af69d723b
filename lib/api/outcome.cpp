#include <quorumlock/inspection.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

#include <algorithm>

#include "api/timeline.hpp"

namespace quorumlock {

std::string_view to_string(Vote vote) noexcept {
  switch (vote) {
    case Vote::pending: return "pending";
    case Vote::granted: return "granted";
    case Vote::held: return "held";
    case Vote::absent: return "absent";
    case Vote::timed_out: return "timed_out";
    case Vote::disconnected: return "disconnected";
    case Vote::unreachable: return "unreachable";
    case Vote::stalled: return "stalled";
    case Vote::no_script: return "no_script";
    case Vote::loading: return "loading";
    case Vote::busy: return "busy";
    case Vote::refuses_writes: return "refuses_writes";
    case Vote::unauthorized: return "unauthorized";
    case Vote::not_standalone: return "not_standalone";
    case Vote::quarantined: return "quarantined";
    case Vote::not_enrolled: return "not_enrolled";
    case Vote::max_ttl_differs: return "max_ttl_differs";
    case Vote::groups_differ: return "groups_differ";
    case Vote::terms_differ: return "terms_differ";
    case Vote::nodes_differ: return "nodes_differ";
    case Vote::same_server: return "same_server";
    case Vote::clock_jumped: return "clock_jumped";
    case Vote::capacity_differs: return "capacity_differs";
    case Vote::tls_failed: return "tls_failed";
    case Vote::failed: return "failed";
    case Vote::bad_counter: return "bad_counter";
  }
  return "unknown";
}

std::string_view describe(Vote vote) noexcept {
  switch (vote) {
    case Vote::pending: return "unanswered";
    case Vote::granted: return "granted";
    case Vote::held: return "held by another";
    case Vote::absent: return "absent";
    case Vote::timed_out: return "timed out";
    case Vote::disconnected: return "disconnected";
    case Vote::unreachable: return "unreachable";
    case Vote::stalled: return "stalled";
    case Vote::no_script: return "without the script";
    case Vote::loading: return "loading";
    case Vote::busy: return "busy";
    case Vote::refuses_writes: return "refusing writes";
    case Vote::unauthorized: return "not authorized";
    case Vote::not_standalone: return "not standalone";
    case Vote::quarantined: return "quarantined";
    case Vote::not_enrolled: return "not enrolled";
    case Vote::max_ttl_differs: return "enrolled with another max_ttl";
    case Vote::groups_differ: return "enrolled for other groups";
    case Vote::terms_differ: return "enrolled on other terms";
    case Vote::nodes_differ: return "enrolled for another list of nodes";
    case Vote::same_server: return "the same server twice";
    case Vote::clock_jumped: return "with a wrong clock";
    case Vote::capacity_differs: return "of another capacity";
    case Vote::tls_failed: return "failing in TLS";
    case Vote::failed: return "failed";
    case Vote::bad_counter: return "with a bad fencing counter";
  }
  return "unknown";
}

std::string_view to_string(TraceKind kind) noexcept {
  switch (kind) {
    case TraceKind::begun: return "begun";
    case TraceKind::queued: return "queued";
    case TraceKind::sent: return "sent";
    case TraceKind::connecting: return "connecting";
    case TraceKind::connected: return "connected";
    case TraceKind::voted: return "voted";
    case TraceKind::raising: return "raising";
    case TraceKind::raised: return "raised";
    case TraceKind::entered: return "entered";
    case TraceKind::placed: return "placed";
    case TraceKind::woken: return "woken";
    case TraceKind::pausing: return "pausing";
    case TraceKind::lost: return "lost";
    case TraceKind::won: return "won";
    case TraceKind::refused: return "refused";
    case TraceKind::left_out: return "left_out";
  }
  return "unknown";
}

int Outcome::count(Vote vote) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(votes, [vote](const NodeVote& node) { return node.vote == vote; }));
}

std::string Outcome::to_string() const {
  std::string text = std::to_string(count(Vote::granted)) + " granted";
  for (int i = 0; i <= static_cast<int>(Vote::bad_counter); ++i) {
    const auto vote = static_cast<Vote>(i);
    if (vote == Vote::granted || count(vote) == 0) continue;
    text += ", " + std::to_string(count(vote)) + " " + std::string(describe(vote));
  }
  text += "; quorum " + std::to_string(quorum) + " of " + std::to_string(votes.size());
  if (attempts > 0) text += "; attempt " + std::to_string(attempts);
  return text;
}

std::string Outcome::timeline() const {
  return detail::timeline_of(*this);
}

}  // namespace quorumlock
