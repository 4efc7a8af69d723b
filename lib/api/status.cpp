#include <quorumlock/status.hpp>

#include <algorithm>

namespace quorumlock {

std::string_view to_string(NodeState state) noexcept {
  switch (state) {
    case NodeState::connecting: return "connecting";
    case NodeState::up: return "up";
    case NodeState::stalled: return "stalled";
    case NodeState::quarantined: return "quarantined";
    case NodeState::down: return "down";
  }
  return "unknown";
}

std::string_view to_string(NodeEnrolment::Standing standing) noexcept {
  switch (standing) {
    case NodeEnrolment::Standing::unknown: return "unknown";
    case NodeEnrolment::Standing::enrolled: return "enrolled";
    case NodeEnrolment::Standing::quarantined: return "quarantined";
    case NodeEnrolment::Standing::refused: return "refused";
  }
  return "unknown";
}

std::string_view to_string(ListPhase phase) noexcept {
  switch (phase) {
    case ListPhase::settled: return "settled";
    case ListPhase::announced: return "announced";
    case ListPhase::unsettled: return "unsettled";
  }
  return "unknown";
}

int ClusterStatus::voters() const noexcept {
  return static_cast<int>(std::ranges::count_if(nodes, &NodeStatus::votes));
}

bool ClusterStatus::has_quorum() const noexcept {
  return voters() >= quorum && std::ranges::all_of(groups, &GroupStatus::has_quorum);
}

}  // namespace quorumlock
