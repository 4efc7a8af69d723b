#include <quorumlock/inspection.hpp>
#include <quorumlock/outcome.hpp>

#include <algorithm>

namespace quorumlock {

std::string_view to_string(Vote vote) noexcept {
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
    case Vote::read_only: return "read-only";
    case Vote::out_of_memory: return "out of memory";
    case Vote::not_writable: return "refusing writes";
    case Vote::unauthorized: return "not authorized";
    case Vote::not_standalone: return "not standalone";
    case Vote::quarantined: return "quarantined";
    case Vote::not_enrolled: return "not enrolled";
    case Vote::max_ttl_differs: return "enrolled with another max_ttl";
    case Vote::groups_differ: return "enrolled for other groups";
    case Vote::same_server: return "the same server twice";
    case Vote::clock_jumped: return "with a wrong clock";
    case Vote::capacity_differs: return "of another capacity";
    case Vote::failed: return "failed";
  }
  return "unknown";
}

int Outcome::count(Vote vote) const noexcept {
  return static_cast<int>(
      std::ranges::count_if(votes, [vote](const NodeVote& node) { return node.vote == vote; }));
}

std::string Outcome::to_string() const {
  std::string text = std::to_string(count(Vote::granted)) + " granted";
  for (int i = 0; i <= static_cast<int>(Vote::failed); ++i) {
    const auto vote = static_cast<Vote>(i);
    if (vote == Vote::granted || count(vote) == 0) continue;
    text += ", " + std::to_string(count(vote)) + " " + std::string(quorumlock::to_string(vote));
  }
  text += "; quorum " + std::to_string(quorum) + " of " + std::to_string(votes.size());
  if (attempts > 0) text += "; attempt " + std::to_string(attempts);
  return text;
}

}  // namespace quorumlock
