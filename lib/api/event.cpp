#include <quorumlock/event.hpp>

namespace quorumlock {

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
    case EventKind::node_clock_jumped: return "node_clock_jumped";
    case EventKind::own_clock_stood: return "own_clock_stood";
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

}  // namespace quorumlock
