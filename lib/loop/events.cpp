#include "loop/events.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <utility>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>

#include "config/quoted.hpp"
#include "lock/owner_token.hpp"
#include "loop/calls.hpp"
#include "loop/user_id.hpp"
#include "loop/why_refused.hpp"

namespace quorumlock::detail {
namespace {

/// Whether a node that does not answer for this reason is likely to come back by itself.
bool passes(Vote reason) {
  switch (reason) {
    case Vote::pending:
    case Vote::timed_out:
    case Vote::disconnected:
    case Vote::unreachable:
    case Vote::stalled:
    case Vote::loading:
    case Vote::busy: return true;
    default: return false;
  }
}

std::string in_ms(core::Duration span) {
  return to_text(std::chrono::floor<std::chrono::milliseconds>(span));
}

/// A duration as text, such as "0.250000 s".
std::string in_seconds(core::Duration size) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f s", std::abs(std::chrono::duration<double>(size).count()));
  return text;
}

}  // namespace

EventKind kind_of(core::LinkState state, Vote reason) {
  switch (state) {
    case core::LinkState::connecting: return EventKind::node_up;
    case core::LinkState::up:
      return reason == Vote::pending ? EventKind::node_up : EventKind::node_refused;
    case core::LinkState::stalled: return EventKind::node_stalled;
    case core::LinkState::quarantined:
      return reason == Vote::quarantined || reason == Vote::not_enrolled
                 ? EventKind::node_quarantined
                 : EventKind::node_refused;
    case core::LinkState::down: break;
  }
  return passes(reason) ? EventKind::node_down : EventKind::node_refused;
}

EventLevel level_of(EventKind kind) {
  switch (kind) {
    case EventKind::lease_acquired:
    case EventKind::lease_released:
    case EventKind::node_up:
    case EventKind::list_changed: return EventLevel::info;
    case EventKind::lease_lost:
    case EventKind::node_refused:
    case EventKind::node_clock_jumped:
    case EventKind::own_clock_stood:
    case EventKind::callback_failed: return EventLevel::error;
    default: return EventLevel::warning;
  }
}

std::string_view why_lost(const core::Tally& tally) {
  if (tally.certainly_gone()) return "too many nodes no longer had its key";
  // A renewal that had its quorum was not what ended the lease.
  if (tally.granted() == core::Verdict::won) return "a clock was found wrong, and its votes void";
  return "too few nodes renewed it in time";
}

Events::Events(const Options& options, Session& session, const NodeList& nodes,
               core::WallClock& wall)
    : options_(options),
      session_(session),
      nodes_(nodes),
      wall_(wall),
      wanted_(options.on_event || options.log) {}

void Events::make(core::Time now, const Session::Output& output) {
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { on(now, what); }) on(now, what);
      },
      output);
}

void Events::on(core::Time now, const core::Acquired& acquired) {
  if (!makes_everyday(EventKind::lease_acquired)) return;
  const auto& acquisition = object_of<const AcquireCall>(acquired.user);
  const core::Claim& claim = *session_.engine().claim(acquired.claim);
  const core::Tally& tally = claim.round.tally;
  add(now, EventLimit::no_node,
      {.kind = EventKind::lease_acquired,
       .resource = names_of(acquisition.resource, acquisition.others, ", "),
       .holder = core::describe_holder(claim.token()),
       .reason = std::to_string(tally.granted_by().size()) + " of " +
                 std::to_string(nodes_.size()) + " nodes had granted it, at attempt " +
                 std::to_string(acquired.attempts)});
}

void Events::on(core::Time now, const core::Refused& refused) {
  if (refused.why != Errc::timed_out) return;
  const auto& acquisition = object_of<const AcquireCall>(refused.user);
  const int capacity = acquisition.request.capacity;
  std::string reason = capacity == 0 ? why_no_lock(refused, now) : why_no_permit(refused, capacity);
  if (refused.unsent) {
    reason = "it could not be sent in time: " + why_unsent(*refused.unsent, nodes_.size());
  }
  add(now, EventLimit::no_node,
      {.kind = EventKind::waiter_starved,
       .resource = names_of(acquisition.resource, acquisition.others, ", "),
       .holder = refused.holder.empty() ? "" : core::describe_holder(refused.holder),
       .reason = std::move(reason)});
}

void Events::on(core::Time now, const core::Renewed& renewed) {
  if (!renewed.late) return;
  add_lease(now, EventKind::lease_renewed_late, object_of<const LeaseState>(renewed.user),
            "it was renewed when less than a tenth of its ttl was left");
}

void Events::on(core::Time now, const core::AtRisk& risk) {
  const LeaseState& lease = object_of<const LeaseState>(risk.user);
  if (lease.ended() != Errc()) return;  // the holder has just released it
  add_lease(now, EventKind::lease_at_risk, lease,
            "it ends in " + in_ms(lease.valid_until() - now) +
                " unless it is renewed: its holder has been asked to stop");
}

void Events::on(core::Time now, const core::Ended& ended) {
  const LeaseState& lease = object_of<const LeaseState>(ended.user);
  switch (ended.why) {
    case Errc::closed:
      if (!makes_everyday(EventKind::lease_released)) return;
      return add_lease(now, EventKind::lease_released, lease, "the coordinator was closed");
    case Errc::expired:
      return add_lease(now, EventKind::lease_expired, lease,
                       "it has run to its end, and was not renewed again");
    default:
      add_lease(now, EventKind::lease_lost, lease,
                std::string(why_lost(ended.tally)) + votes_of(ended.tally));
  }
}

void Events::on(core::Time now, const core::Released& released) {
  if (released.by_token) return;
  const LeaseState& lease = object_of<const LeaseState>(released.user);
  if (!released.why) return this->released(now, lease);
  if (*released.why == Errc::not_held) {
    return add_lease(now, EventKind::lease_lost, lease,
                     "its key was gone when it was released" + votes_of(released.tally));
  }
  add_lease(now, EventKind::lease_released, lease,
            "too few nodes have confirmed it, and the others keep the key until it runs out" +
                votes_of(released.tally));
}

void Events::on(core::Time now, const Session::NodeChanged& changed) {
  const int node = changed.node;
  if (std::ranges::find(session_.nodes(), node) == session_.nodes().end()) return;  // it has left
  const redis::Link& link = session_.link(node);
  const bool down = changed.state == core::LinkState::down;
  // If the node is down the next attempt fails, and that is the event.
  if (down && link.ended_idle()) return;
  const EventKind kind = kind_of(changed.state, changed.reason);
  std::string reason = session_.trouble(now, node);
  if (kind == EventKind::node_up) {
    reason = link.ended_idle() ? "it votes again: its idle connection was closed, and made anew"
                               : "it votes";
  }
  if (reason.empty()) reason = describe(changed.reason);
  if (down && link.attempts().failures() > 1) {
    reason += " (" + std::to_string(link.attempts().failures()) + " attempts so far)";
  }
  add(now, node, {.kind = kind, .node = name_of(node), .reason = std::move(reason)});
}

void Events::on(core::Time now, const Session::News& news) {
  const bool of_a_node = news.node >= 0;
  add(now, of_a_node ? news.node : EventLimit::no_node,
      {.kind = news.kind, .node = of_a_node ? name_of(news.node) : "", .reason = news.reason});
}

void Events::on(core::Time now, const core::ClockJumped& jumped) {
  const bool ahead = jumped.size > core::Duration::zero();
  add(now, jumped.node,
      {.kind = EventKind::node_clock_jumped,
       .node = name_of(jumped.node),
       .reason = "it is " + in_seconds(jumped.size) + (ahead ? " ahead of" : " behind") +
                 " what drift_factor allows since it was last looked at; its votes do not count "
                 "for max_ttl"});
}

void Events::on(core::Time now, const core::ClockStood& stood) {
  add(now, EventLimit::no_node,
      {.kind = EventKind::own_clock_stood,
       .reason = "this process's own clock stood still for " + in_seconds(stood.size) +
                 " or more: " + std::to_string(stood.ahead.size()) +
                 " nodes are ahead of it at once; all leases have ended, and no node is mistrusted "
                 "for it"});
}

void Events::released(core::Time now, const LeaseState& lease) {
  if (!wanted_ || !makes_everyday(EventKind::lease_released)) return;
  add_lease(now, EventKind::lease_released, lease, "its holder released it");
}

void Events::thread_ended(core::Time now, std::string resource, std::string_view token) {
  if (!wanted_) return;
  add(now, EventLimit::no_node,
      {.kind = EventKind::thread_ended_with_lock,
       .resource = std::move(resource),
       .holder = core::describe_holder(token),
       .reason = "it is released: unlock it on the thread that has locked it"});
}

void Events::add_lease(core::Time now, EventKind kind, const LeaseState& lease,
                       std::string reason) {
  add(now, EventLimit::no_node,
      {.kind = kind,
       .resource = names_of(lease.resource(), lease.others(), ", "),
       .holder = core::describe_holder(lease.token()),
       .reason = std::move(reason)});
}

void Events::add(core::Time now, int node, Event event) {
  using std::chrono::system_clock;
  event.level = level_of(event.kind);
  for (std::string* const text : {&event.node, &event.resource, &event.holder, &event.reason}) {
    *text = printable(*text);
  }
  event.time = system_clock::time_point(std::chrono::microseconds(wall_.now_us()));
  if (limit_.admits(now, node, event)) ready_.push_back(std::move(event));
}

std::string Events::name_of(int node) const {
  return session_.link(node).endpoint().name();
}

std::string Events::votes_of(const core::Tally& tally) const {
  return " (" + nodes_.outcome_of(tally, 0).to_string() + ")";
}

void Events::advance(core::Time now) {
  while (std::optional<Event> event = limit_.next(now)) ready_.push_back(std::move(*event));
}

/// Calls a callback of the user's. An exception is an event, unless it is about such an event.
template <class Call>
void Events::tell(core::Time now, const char* name, const Event& event, Call&& call) {
  std::string thrown;
  try {
    return call();
  } catch (const std::exception& error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  if (event.kind == EventKind::callback_failed) return;
  add(now, EventLimit::no_node,
      {.kind = EventKind::callback_failed,
       .reason = std::string(name) + " has thrown at " + std::string(to_string(event.kind)) + ": " +
                 thrown});
}

void Events::deliver(core::Time now) {
  for (const Event& event : std::exchange(ready_, {})) {
    if (options_.on_event) tell(now, "on_event", event, [&] { options_.on_event(event); });
    if (options_.log && !is_everyday(event.kind)) {
      tell(now, "log", event, [&] { options_.log(to_string(event)); });
    }
  }
}

void Events::end(core::Time now) {
  wanted_ = false;
  // A callback that fails at one of these events adds another one.
  do {
    advance(core::never);
    deliver(now);
  } while (has_any() || deadline() != core::never);
}

}  // namespace quorumlock::detail
