#include <vector>

#include "core/engine.hpp"
#include "core/validity.hpp"

// Watching the nodes' clocks, and what follows when a clock is found to be wrong.
namespace quorumlock::core {

/// Returns the vote to count: void if the node's clock is not trusted.
Vote Engine::watch_clock(Time now, int node, const Answer& answer) {
  if (answer.node_time != 0) {
    if (const std::optional<Duration> beyond =
            clocks_.sample(node, answer.asked, now, answer.node_time)) {
      NodeSet ahead;
      if (*beyond > Duration::zero()) ahead = clocks_.ahead_with(node);
      if (ahead.size() >= quorum_of(config_.nodes) && !planted(Mutant::nodes_blamed)) {
        own_clock_stood(now, ahead, *beyond);
      } else {
        mistrust(now, node, *beyond);
      }
    }
  }
  if (!mistrusted_.contains(node) || answer.vote != Vote::granted) return answer.vote;
  voters(now);  // trusts nodes again whose time of mistrust is over
  return mistrusted_.contains(node) ? Vote::clock_jumped : answer.vote;
}

void Engine::mistrust(Time now, int node, Duration beyond) {
  const Time until = now + config_.max_ttl + margin(config_.max_ttl, config_.drift_factor);
  voters(now);
  const bool ahead = beyond > Duration::zero();
  if (!ahead) {
    merely_ahead_.remove(node);
  } else if (!mistrusted_.contains(node)) {
    merely_ahead_.add(node);
  }
  mistrusted_.add(node);
  mistrusted_until_[static_cast<std::size_t>(node)] = until;
  output(ClockJumped{node, beyond, until});
  // The node's keys may have run out early: its earlier votes are void, and a lease without a
  // quorum of votes from other nodes is lost.
  const int quorum = quorum_of(config_.nodes);
  claims_.for_each_folded([&](ClaimId id, NodeSet& standing) {
    standing.remove(node);
    if (standing.size() < quorum) end(now, id, Errc::lost);
  });
  claims_.for_each_open([&](ClaimId id) {
    Claim& claim = claims_[id];
    if (claim.phase == Phase::releasing) return;
    claim.standing.remove(node);
    if (claim.phase == Phase::held && claim.standing.size() < quorum) {
      return end(now, id, Errc::lost);
    }
    if (!claim.round_open || claim.tally.vote(node) != Vote::granted) return;
    claim.tally.record(node, Vote::clock_jumped);
    judge(now, id, claim);
    forget_if_done(now, id);
  });
}

/// A quorum of nodes has been ahead of us since one and the same moment, so our clock is wrong. Our
/// leases have run out earlier than we thought, and the rounds under way began earlier.
void Engine::own_clock_stood(Time now, NodeSet ahead, Duration beyond) {
  const NodeSet trusted = merely_ahead_ & ahead;
  mistrusted_ = mistrusted_ - trusted;
  merely_ahead_ = merely_ahead_ - trusted;
  clocks_.restart(now);
  output(ClockStood{ahead, trusted, beyond});
  if (planted(Mutant::leases_kept)) return;
  // Only the claims of now: new ones that this loop brings about began after the stand-still.
  std::vector<ClaimId> all;
  claims_.for_each([&all](ClaimId id) { all.push_back(id); });
  for (const ClaimId id : all) {
    Claim* const claim = claims_.find(id);
    if (claim == nullptr || claim->phase == Phase::releasing) continue;
    if (claim->phase == Phase::held) {
      end(now, id, Errc::lost);
      continue;
    }
    for (const int node : claim->tally.pending() | claim->tally.granted_by()) {
      claim->tally.record(node, Vote::clock_jumped);
    }
    judge(now, id, *claim);
    forget_if_done(now, id);
  }
}

/// Whether to repeat a renewal that the node found too late. That can be our mistake: we judged its
/// clock by a slow answer, or did not know it; this answer has brought the node's time.
bool Engine::wants_again(Time now, int node, const Claim& claim, const Tag& tag,
                         const Answer& answer) {
  if (tag.kind != CommandKind::renew || answer.vote != Vote::timed_out) return false;
  if (planted(Mutant::too_late_believed)) return false;
  const bool wanted = claim.phase == Phase::held || claim.round_open;
  return wanted && tag.round == claim.round && voters(now).contains(node);
}

void Engine::on_clock(Time now, int node, Time asked, std::int64_t node_time) {
  advance(now);
  Answer answer;
  answer.node_time = node_time;
  answer.asked = asked;
  watch_clock(now, node, answer);
}

NodeSet Engine::voters(Time now) {
  for (const int node : mistrusted_) {
    if (now < mistrusted_until_[static_cast<std::size_t>(node)]) continue;
    mistrusted_.remove(node);
    merely_ahead_.remove(node);
  }
  return takes_requests_ - mistrusted_;
}

}  // namespace quorumlock::core
