#include <quorumlock/event.hpp>

namespace quorumlock {
namespace {

/// What has happened to the event's node or resource; empty if the reason is the whole sentence.
std::string_view predicate(EventKind kind) {
  switch (kind) {
    case EventKind::lease_acquired: return "is acquired";
    case EventKind::lease_renewed_late: return "was renewed late";
    case EventKind::lease_at_risk: return "is at risk";
    case EventKind::lease_lost: return "is lost";
    case EventKind::lease_expired: return "has expired";
    case EventKind::lease_released: return "is released";
    case EventKind::waiter_starved: return "was waited for in vain";
    case EventKind::thread_ended_with_lock: return "was held by a thread that has ended";
    case EventKind::node_up: return "is up";
    case EventKind::node_stalled: return "is stalled";
    case EventKind::node_down: return "is down";
    case EventKind::node_quarantined: return "does not vote yet";
    case EventKind::node_refused: return "cannot vote";
    case EventKind::node_impaired: return "is impaired";
    case EventKind::node_clock_jumped: return "has a wrong clock";
    case EventKind::own_clock_stood:
    case EventKind::list_changed:
    case EventKind::list_awaited:
    case EventKind::callback_failed: break;
  }
  return {};
}

}  // namespace

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::lease_acquired: return "lease_acquired";
    case EventKind::lease_renewed_late: return "lease_renewed_late";
    case EventKind::lease_at_risk: return "lease_at_risk";
    case EventKind::lease_lost: return "lease_lost";
    case EventKind::lease_expired: return "lease_expired";
    case EventKind::lease_released: return "lease_released";
    case EventKind::waiter_starved: return "waiter_starved";
    case EventKind::thread_ended_with_lock: return "thread_ended_with_lock";
    case EventKind::node_up: return "node_up";
    case EventKind::node_stalled: return "node_stalled";
    case EventKind::node_down: return "node_down";
    case EventKind::node_quarantined: return "node_quarantined";
    case EventKind::node_refused: return "node_refused";
    case EventKind::node_impaired: return "node_impaired";
    case EventKind::node_clock_jumped: return "node_clock_jumped";
    case EventKind::own_clock_stood: return "own_clock_stood";
    case EventKind::list_changed: return "list_changed";
    case EventKind::list_awaited: return "list_awaited";
    case EventKind::callback_failed: return "callback_failed";
  }
  return "unknown";
}

std::string_view to_string(EventLevel level) noexcept {
  switch (level) {
    case EventLevel::info: return "info";
    case EventLevel::warning: return "warning";
    case EventLevel::error: return "error";
  }
  return "unknown";
}

std::string to_string(const Event& event) {
  std::string sentence = event.node;
  if (!event.resource.empty()) sentence += '"' + event.resource + '"';
  if (const std::string_view what = predicate(event.kind); !what.empty()) {
    sentence.append(" ").append(what).append(": ");
  }
  sentence += event.reason;
  if (event.left_out > 0) {
    sentence +=
        " (" + std::to_string(event.left_out) + " events like this were left out before it)";
  }
  return printable(sentence);
}

}  // namespace quorumlock
