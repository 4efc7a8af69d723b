#include "lock/leases.hpp"

#include <algorithm>
#include <utility>

#include "lock/quorum.hpp"
#include "lock/statistics.hpp"
#include "lock/validity.hpp"

namespace quorumlock::core {

using namespace std::chrono_literals;

namespace {

/// Whether the nodes that have answered could renew the lease without the silent ones in another
/// round: a key that was set anew counts from the next round on.
bool confirms_in_another_round(const Claim& claim) {
  if (claim.held.detached) return false;  // a detached lease sets no key anew
  const Tally& tally = claim.round.tally;
  NodeSet able = tally.granted_by();
  for (const int node : claim.footprint.nodes - tally.pending()) {
    if (tally.vote(node) == Vote::absent) able.add(node);
  }
  return tally.wins(able);
}

Extended extended(const Claim& claim, std::optional<Errc> why) {
  return {claim.held.user, claim.by_token, why, claim.deadline, claim.round.tally};
}

}  // namespace

void Leases::begin(ClaimId id) {
  Claim& claim = exchange_.claims[id];
  claim.phase = Phase::held;
  claim.held.won = true;
  claim.held.standing = claim.round.tally.granted_by();
  claim.round.close();
  claim.next_try = next_renewal(id);
  ++held_;
  schedule(id);
}

bool Leases::may_extend(ClaimId id) {
  const Claim* const claim = exchange_.claims.find(id);
  return claim != nullptr && claim->phase == Phase::held && !claim->asked_for;
}

void Leases::extend(Time now, ClaimId id, Duration ttl) {
  exchange_.claims[id].asked_for = true;
  renew(now, id, ttl);
}

void Leases::downgrade(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  // The writer's entry leaves the line first: the nodes then wake the readers after it when they
  // turn the writer into a reader.
  if (!claim.terms.reads() && std::exchange(claim.entry.leaves, false)) {
    cleanup_.take_out(now, claim, claim.entry.nodes);
    claim.entry.place = 0;
  }
  claim.terms.mode = LockMode::shared;
  claim.asked_for = true;
  renew(now, id, claim.terms.ttl);
}

/// Opens a renew round. It replaces a round that is still out, whose answers no longer count.
void Leases::renew(Time now, ClaimId id, Duration ttl) {
  Claim& claim = exchange_.claims[id];
  const Tally& tally = claim.round.tally;
  claim.held.replaced.reset();
  if (tally.granted() != Verdict::won) claim.held.replaced = {claim.round.number(), tally.gone()};
  exchange_.open_round(now, claim, ttl);
  claim.next_try = never;
  const NodeSet voters = exchange_.nodes.voters(now);
  exchange_.send_round(id, CommandKind::renew, exchange_.worth_asking(voters));
  schedule(id);
  judge(now, id, claim);
}

void Leases::hear_late(Claim& claim, int node, Tag tag, Vote vote) {
  std::optional<Held::Replaced>& replaced = claim.held.replaced;
  if (claim.phase != Phase::held || !replaced || replaced->round != tag.round) return;
  if (!is_answer(vote) || vote == Vote::granted) return;
  replaced->gone.add(node);
  Tally& tally = claim.round.tally;
  if (!tally.leaves_no_quorum(replaced->gone)) return;
  for (const int one : replaced->gone) tally.record(one, Vote::absent);
}

void Leases::judge(Time now, ClaimId id, Claim& claim) {
  const Tally& tally = claim.round.tally;
  // The lease is lost even if the answer that shows it comes after the round has failed: if no
  // quorum can have held the key all along, another client may have the lock, or have had it.
  if (tally.certainly_gone()) return end(now, id, Errc::lost);
  if (!claim.round.is_open()) return;
  const Verdict granted = tally.granted();
  if (granted == Verdict::pending) {
    if (claim.next_try == never && confirms_in_another_round(claim)) {
      claim.next_try = claim.round.patient_until(now);
      schedule(id);
    }
    return;
  }
  claim.round.close();
  const bool reported = std::exchange(claim.asked_for, false);
  const bool late = note_renewal(exchange_.stats, now, claim, granted == Verdict::won);

  // Each input calls advance() first, so the votes are counted before the old end has passed.
  Held& held = claim.held;
  if (granted == Verdict::won) {
    const Time from = planted(Mutant::renewal_counted_from_its_end) ? now : claim.round.start();
    const Time renewed = valid_until(from, claim.round.ttl(), exchange_.config.drift_factor);
    claim.deadline = std::min(std::max(claim.deadline, renewed), held.limit);
    if (!reported) ++held.renewals;
    held.standing = tally.granted_by();
    claim.terms.ttl = claim.round.ttl();
    // A margin that was chosen for a longer ttl would ask the holder to stop at once.
    if (claim.terms.stop_margin >= claim.terms.ttl) {
      claim.terms.stop_margin = usual_stop_margin(claim.terms.ttl);
    }
    // A holder that AtRisk has asked to stop gets the time of this renewal and no more, unless it
    // has extended the lease, and so decided to go on.
    if (reported && held.told) held.goes_on = true;
    claim.next_try = held.told && !held.goes_on ? never : next_renewal(id);
    exchange_.output(Renewed{held.user, id, claim.deadline, late});
    if (reported) exchange_.output(extended(claim, std::nullopt));
  } else {
    // The renewal failed; the old end stands, and until then there is time to try again.
    const bool again = next_renewal(id) != never;
    claim.next_try = again ? renewal_pause_ends(now, claim) : never;
    if (reported) exchange_.output(extended(claim, Errc::no_quorum));
  }
  schedule(id);
}

/// The next renewal, between a quarter and a third into the validity, or `never` if the lease is at
/// one of its limits. Leases that began together are spread over that time. Due times are rounded
/// to a grid, so that leases due at about the same moment are renewed by one command.
Time Leases::next_renewal(ClaimId id) {
  const Claim& claim = exchange_.claims[id];
  const Terms& terms = claim.terms;
  const bool at_limit = claim.deadline >= claim.held.limit ||
                        (terms.max_renewals >= 0 && claim.held.renewals >= terms.max_renewals);
  if (!terms.auto_extend || claim.held.detached || at_limit) return never;
  const Duration span = claim.deadline - claim.round.start();
  // Multiples of this number are spread evenly (Knuth, vol. 3, 6.4).
  constexpr std::uint32_t golden = 0x9e3779b9;
  const auto place = static_cast<Clock::rep>(id.index * golden >> 20U);  // one of 4096 places
  const Time wanted = claim.round.start() + span / 3 - span / 12 / 4096 * place;
  const auto grid = std::clamp<Clock::rep>(span.count() / 64, 1, Duration(8ms).count());
  return wanted - Duration(wanted.time_since_epoch().count() % grid);
}

/// The end of the pause before a renewal is tried again: the usual pause between attempts, but with
/// more jitter if there are many leases, since one cause mostly delays all of their renewals, and
/// shorter if little time is left, so that several more tries fit before the end.
Time Leases::renewal_pause_ends(Time now, const Claim& claim) {
  // The average pause is at least half of this for each lease: at most 50,000 tries a second.
  constexpr Duration for_each_lease = 40us;
  const Config& config = exchange_.config;
  const Duration jitter = std::max<Duration>(config.retry_jitter, held_ * for_each_lease);
  const Duration left = (claim.deadline - now) / 4;
  const Duration pause = std::min(config.retry_delay + exchange_.random.below(jitter), left);
  return now + std::max(pause, shortest_pause);
}

void Leases::schedule(ClaimId id) {
  const Claim& claim = exchange_.claims[id];
  Time due = claim.deadline;
  if (planted(Mutant::renewal_after_the_old_end) && claim.round.is_open()) due += claim.terms.ttl;
  if (!claim.held.told) due = std::min(due, claim.deadline - claim.terms.stop_margin);
  due = std::min(due, claim.next_try);
  exchange_.timers.set(id.index, due);
}

void Leases::on_due(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  if (now >= claim.deadline) {
    const bool renewing = claim.next_try != never || (claim.round.is_open() && !claim.asked_for);
    return end(now, id, renewing ? Errc::lost : Errc::expired);
  }
  if (!claim.held.told && now >= claim.deadline - claim.terms.stop_margin) {
    claim.held.told = true;
    exchange_.output(AtRisk{claim.held.user});
  }
  if (now >= claim.next_try) {
    // Without room the renewal is queued, but not into the last quarter of the ttl.
    const Time latest = claim.deadline - claim.terms.ttl / 4;
    const bool goes = !exchange_.admission.has_renewals() && exchange_.has_room();
    if (now >= latest || goes) {
      return renew(now, id, claim.asked_for ? claim.round.ttl() : claim.terms.ttl);
    }
    claim.next_try = latest;
    exchange_.admission.queue_renewal(latest, id);
  }
  schedule(id);
}

void Leases::renew_queued(Time now) {
  const Admission::Renewal first = exchange_.admission.take_renewal();
  const Claim* const claim = exchange_.claims.find(first.id);
  // It may have ended, or been renewed, in the meantime.
  const bool wanted =
      claim != nullptr && claim->phase == Phase::held && claim->next_try == first.latest;
  if (!wanted) return;
  renew(now, first.id, claim->asked_for ? claim->round.ttl() : claim->terms.ttl);
}

void Leases::release(Time now, ClaimId id, bool report, const ClaimEntry& heir) {
  Claim& claim = exchange_.claims[id];
  if (claim.asked_for) exchange_.output(extended(claim, Errc::not_held));
  --held_;
  ++exchange_.stats.released;
  cleanup_.release(now, id, report, heir);
}

void Leases::end(Time now, ClaimId id, Errc why) {
  Claim& claim = exchange_.claims[id];
  const bool asked_for = std::exchange(claim.asked_for, false);
  if (why == Errc::expired) ++exchange_.stats.expired;
  if (why == Errc::lost) {
    ++exchange_.stats.lost;
    ClassStats* const its_class = exchange_.class_of(claim.key());
    if (its_class != nullptr) ++its_class->lost;
  }
  // Ended comes first, so that a user whose extend fails because of it finds the lease ended.
  exchange_.output(Ended{claim.held.user, why, claim.round.tally});
  if (asked_for) exchange_.output(extended(claim, why));
  give_up(now, id);
}

/// Gives up a lease; the keys of a detached one run out by themselves.
void Leases::give_up(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  if (claim.held.detached) claim.footprint.nodes = NodeSet();
  --held_;
  cleanup_.give_up(now, id);
  cleanup_.forget_if_done(now, id);
}

void Leases::detach(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  claim.held.detached = true;
  claim.next_try = never;
  // A lease that will never be released leaves the line on the nodes that did not grant. A node
  // that granted has marked the entry, which goes with the key; on the others it would block the
  // line for the rest of its life.
  const NodeSet unmarked = claim.entry.nodes - claim.held.standing;
  if (claim.entry.leaves && !unmarked.empty()) cleanup_.take_out(now, claim, unmarked);
  schedule(id);
}

void Leases::forget(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  claim.asked_for = false;
  claim.held.detached = true;
  give_up(now, id);
}

void Leases::extend_token(Time now, ClaimId id, Duration ttl) {
  Claim& claim = exchange_.claims[id];
  claim.phase = Phase::extending;
  exchange_.open_round(now, claim, ttl);
  claim.deadline = valid_until(now, ttl, exchange_.config.drift_factor);
  exchange_.count_fences(claim, 0);
  exchange_.send_round(id, CommandKind::renew, exchange_.nodes.voters(now));
  judge_token_extend(now, id);
  cleanup_.forget_if_done(now, id);
}

void Leases::judge_token_extend(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  if (!claim.asked_for) return;
  std::optional<Errc> why;
  // The old end is not known here: only a quorum that still holds the token, with one and the same
  // counter on all of its nodes, shows that no other client had the lock in between
  // (proof/by_token.py).
  const Ballot& ballot = *exchange_.ballot_of(claim);
  const Tally& tally = claim.round.tally;
  const NodeSet granted = tally.granted_by();
  NodeSet agreeing = ballot.standing_for(ballot.most_common(granted), granted);
  if (planted(Mutant::extended_on_any_counters)) agreeing = granted;
  switch (tally.judge(agreeing)) {
    case Verdict::pending: return;
    case Verdict::won:
      if (now >= claim.deadline) why = Errc::expired;
      break;
    case Verdict::lost:
      if (tally.reached() == Verdict::pending) return;
      why = tally.reached() == Verdict::won ? Errc::not_held : Errc::no_quorum;
      break;
  }
  exchange_.drop_ballot(claim);
  claim.asked_for = false;
  claim.round.close();
  exchange_.output(extended(claim, why));
}

}  // namespace quorumlock::core
