#include <algorithm>
#include <utility>

#include "core/engine.hpp"
#include "core/validity.hpp"

// A lease from its acquisition to its end: renewals, extends, the warning and the end.
namespace quorumlock::core {

using namespace std::chrono_literals;

void Engine::adopt(ClaimId id, UserId user) {
  if (Claim* claim = claims_.find(id)) claim->user = user;
  rest(id);
}

bool Engine::extend(Time now, ClaimId id, Duration ttl) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->phase != Phase::held || claim->asked_for) return false;
  claim->asked_for = true;
  renew(now, id, ttl);
  return true;
}

bool Engine::downgrade(Time now, ClaimId id) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->phase != Phase::held || claim->asked_for) return false;
  if (claim->detached) return false;
  // The writer's entry leaves the line first: the nodes then wake the readers after it when they
  // turn the writer into a reader.
  if (!claim->terms.shared && std::exchange(claim->leaves, false)) {
    const ClaimId entry = new_claim(claim->key(), {});
    claims_[entry].others = claim->others;
    claims_[entry].place = std::exchange(claim->place, 0);
    claims_[entry].may_hold = claim->entered;
    leave(now, entry);
  }
  claim->terms.shared = true;
  claim->asked_for = true;
  renew(now, id, claim->terms.ttl);
  return true;
}

/// Opens a renew round. It replaces a round that is still out, whose answers no longer count.
void Engine::renew(Time now, ClaimId id, Duration ttl) {
  Claim& claim = claims_[id];
  close_renewal(claim);
  open_round(now, claim, ttl);
  ++renewals_out_;
  claim.next_try = never;
  send_round(id, CommandKind::renew, voters(now));
  schedule_held(id);
  judge_renew(now, id, claim);
}

void Engine::close_renewal(Claim& claim) {
  if (claim.phase == Phase::held && std::exchange(claim.round_open, false)) --renewals_out_;
}

void Engine::judge_renew(Time now, ClaimId id, Claim& claim) {
  // The lease is lost even if the answer that shows it comes after the round has failed: if no
  // quorum can have held the key all along, another client may have the lock, or have had it.
  if (claim.tally.certainly_gone()) return end(now, id, Errc::lost);
  if (!claim.round_open) return;
  const Verdict granted = claim.tally.granted();
  if (granted == Verdict::pending) {
    if (claim.next_try == never && confirms_in_another_round(claim)) {
      claim.next_try = patient_until_of(now, claim);
      schedule_held(id);
    }
    return;
  }
  close_renewal(claim);
  const bool reported = std::exchange(claim.asked_for, false);
  note_renewal(claim, granted == Verdict::won);

  // Each input calls advance() first, so the votes are counted before the old end has passed.
  if (granted == Verdict::won) {
    const Time from = planted(Mutant::renewal_counted_from_its_end) ? now : claim.round_start;
    const Time renewed = valid_until(from, claim.round_ttl, config_.drift_factor);
    claim.deadline = std::min(std::max(claim.deadline, renewed), claim.hold_limit);
    if (!reported) ++claim.renewals;
    claim.standing = claim.tally.granted_by();
    claim.terms.ttl = claim.round_ttl;
    // A holder that AtRisk has asked to stop gets the time of this renewal and no more, unless it
    // has extended the lease, and so decided to go on.
    if (reported && claim.told) claim.goes_on = true;
    claim.next_try = claim.told && !claim.goes_on ? never : next_renewal(id);
    output(Renewed{claim.user, id, claim.deadline});
    if (reported)
      output(Extended{claim.user, claim.by_token, std::nullopt, claim.deadline, claim.tally});
  } else {
    // The renewal failed; the old end stands, and until then there is time to try again.
    const bool again = next_renewal(id) != never;
    claim.next_try = again ? renewal_pause_ends(now, claim) : never;
    if (reported)
      output(Extended{claim.user, claim.by_token, Errc::no_quorum, claim.deadline, claim.tally});
  }
  schedule_held(id);
}

/// Until when to wait for the remaining nodes although a quorum has answered, because their answers
/// may decide better. Three times as long as the quorum took, at least 5 ms.
Time Engine::patient_until_of(Time now, const Claim& claim) {
  return later(now, std::max<Duration>(5ms, 3 * (now - claim.round_start)));
}

/// Whether the nodes that have answered could renew the lease without the silent ones in another
/// round: a key that was set anew counts from the next round on.
bool Engine::confirms_in_another_round(const Claim& claim) {
  if (claim.detached) return false;  // a detached lease sets no key anew
  int able = claim.tally.granted_by().size();
  for (const int node : claim.may_hold - claim.tally.pending()) {
    if (claim.tally.vote(node) == Vote::absent) ++able;
  }
  return able >= quorum_of(claim.tally.nodes());
}

/// The next renewal, between a quarter and a third into the validity, or `never` if the lease is at
/// one of its limits. Leases that began together are spread over that time. Due times are rounded
/// to a grid, so that leases due at about the same moment are renewed by one command.
Time Engine::next_renewal(ClaimId id) {
  const Claim& claim = claims_[id];
  const Terms& terms = claim.terms;
  const bool at_limit = claim.deadline >= claim.hold_limit ||
                        (terms.max_renewals >= 0 && claim.renewals >= terms.max_renewals);
  if (!terms.auto_extend || claim.detached || at_limit) return never;
  const Duration span = claim.deadline - claim.round_start;
  // Multiples of this number are spread evenly (Knuth, vol. 3, 6.4).
  constexpr std::uint32_t golden = 0x9e3779b9;
  const auto place = static_cast<Clock::rep>(id.index * golden >> 20U);  // of 4096
  const Time wanted = claim.round_start + span / 3 - span / 12 / 4096 * place;
  const auto grid = std::clamp<Clock::rep>(span.count() / 64, 1, Duration(8ms).count());
  return wanted - Duration(wanted.time_since_epoch().count() % grid);
}

/// The end of the pause before a renewal is tried again: the usual pause between attempts, but with
/// more jitter if there are many leases, since one cause mostly delays all of their renewals, and
/// shorter if little time is left, so that several more tries fit before the end.
Time Engine::renewal_pause_ends(Time now, const Claim& claim) {
  // The average pause is at least half of this for each lease: at most 50,000 tries a second.
  constexpr Duration for_each_lease = 40us;
  const Duration jitter = std::max<Duration>(config_.retry_jitter, held_ * for_each_lease);
  const Duration left = (claim.deadline - now) / 4;
  const Duration pause = std::min(config_.retry_delay + random_.below(jitter), left);
  return now + std::max(pause, shortest_pause);
}

void Engine::schedule_held(ClaimId id) {
  const Claim& claim = claims_[id];
  Time due = claim.deadline;
  if (!claim.told) due = std::min(due, claim.deadline - claim.terms.stop_margin);
  due = std::min(due, claim.next_try);
  claim_timers_.set(id.index, due);
}

void Engine::on_held_due(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  const bool late_renewals =
      planted(Mutant::renewal_after_the_old_end) || planted(Mutant::replant_after_the_old_end);
  if (now >= claim.deadline && claim.round_open && late_renewals) {
    return claim_timers_.set(id.index, now + claim.terms.ttl);
  }
  if (now >= claim.deadline) {
    const bool renewing = claim.next_try != never || (claim.round_open && !claim.asked_for);
    return end(now, id, renewing ? Errc::lost : Errc::expired);
  }
  if (!claim.told && now >= claim.deadline - claim.terms.stop_margin) {
    claim.told = true;
    output(AtRisk{claim.user});
  }
  if (now >= claim.next_try) {
    // If too many rounds are out, this one waits, but not into the last quarter of the ttl.
    const bool in_time = claim.deadline - now > claim.terms.ttl / 4;
    if (renewals_out_ < config_.renewals_out || !in_time) {
      return renew(now, id, claim.asked_for ? claim.round_ttl : claim.terms.ttl);
    }
    claim.next_try = renewal_pause_ends(now, claim);
  }
  schedule_held(id);
}

/// Ends a lease other than by the holder's release.
void Engine::end(Time now, ClaimId id, Errc why) {
  Claim& claim = claims_[id];
  const bool asked_for = std::exchange(claim.asked_for, false);
  if (why == Errc::expired) ++stats_.expired;
  if (why == Errc::lost) ++stats_.lost;
  // Ended comes first, so that a user whose extend fails because of it finds the lease ended.
  output(Ended{claim.user, why, claim.tally});
  if (asked_for) {
    output(Extended{claim.user, claim.by_token, why, claim.deadline, claim.tally});
  }
  if (claim.detached) claim.may_hold = NodeSet();
  give_up(now, id);
  forget_if_done(now, id);
}

void Engine::detach(Time now, ClaimId id) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->phase != Phase::held) return;
  claim->detached = true;
  claim->next_try = never;
  leave_where_refused(now, *claim);
  schedule_held(id);
}

void Engine::abandon(Time now, ClaimId id) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim != nullptr && claim->phase == Phase::held) end(now, id, Errc::expired);
}

void Engine::extend_token(Time now, std::string_view key, std::string_view token, Duration ttl,
                          UserId user) {
  advance(now);
  const ClaimId id = new_claim(key, token);
  Claim& claim = claims_[id];
  claim.phase = Phase::extending;
  claim.asked_for = claim.by_token = true;
  claim.user = user;
  open_round(now, claim, ttl);
  claim.deadline = valid_until(now, ttl, config_.drift_factor);
  claim.ballot = ballots_.take();
  ballots_[claim.ballot].begin(0);
  send_round(id, CommandKind::renew, voters(now));
  judge_token_extend(now, claim);
  forget_if_done(now, id);
}

void Engine::judge_token_extend(Time now, Claim& claim) {
  if (!claim.asked_for) return;
  std::optional<Errc> why;
  // The old end is not known here: only a quorum that still holds the token, with one and the same
  // counter on all of its nodes, shows that no other client had the lock in between.
  const Ballot& ballot = ballots_[claim.ballot];
  const NodeSet granted = claim.tally.granted_by();
  const NodeSet agreeing = ballot.standing_for(ballot.most_common(granted), granted);
  switch (verdict(config_.nodes, agreeing.size(), claim.tally.pending().size())) {
    case Verdict::pending: return;
    case Verdict::won:
      if (now >= claim.deadline) why = Errc::expired;
      break;
    case Verdict::lost:
      if (claim.tally.reached() == Verdict::pending) return;
      why = claim.tally.reached() == Verdict::won ? Errc::not_held : Errc::no_quorum;
      break;
  }
  drop_ballot(claim);
  claim.asked_for = false;
  claim.round_open = false;
  output(Extended{claim.user, claim.by_token, why, claim.deadline, claim.tally});
}

}  // namespace quorumlock::core
