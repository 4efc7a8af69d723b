#include "lock/cleanup.hpp"

#include <algorithm>

#include "lock/quorum.hpp"

namespace quorumlock::core {

void Cleanup::release(Time now, ClaimId id, bool report, const ClaimEntry& heir) {
  Claim& claim = exchange_.claims[id];
  const Nodes& nodes = exchange_.nodes;
  claim.asked_for = report;
  claim.phase = Phase::releasing;
  claim.next_try = never;
  exchange_.open_round(now, claim, Duration::zero());
  owe_entry(now, claim);
  claim.entry.not_woken = heir.not_woken;
  claim.entry.not_woken_reads = heir.not_woken_reads;
  exchange_.send_round(id, CommandKind::release,
                       exchange_.at_leisure(nodes.take_requests()) |
                           (nodes.take_releases() & claim.footprint.nodes));
  exchange_.timers.clear(id.index);
  judge(now, id, claim);
  forget_if_done(now, id);
}

void Cleanup::release_token(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  claim.phase = Phase::releasing;
  exchange_.open_round(now, claim, Duration::zero());
  exchange_.send_round(id, CommandKind::release, exchange_.nodes.take_releases());
  judge(now, id, claim);
  forget_if_done(now, id);
}

void Cleanup::give_up(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  if (claim.permit.capacity != 0) permits_.drop(claim);
  exchange_.drop_ballot(claim);
  claim.phase = Phase::releasing;
  claim.round.close();
  claim.next_try = never;
  exchange_.timers.clear(id.index);
  if (!claim.held.detached) owe_entry(now, claim);
  // The waiter goes on waiting, and needs no message about its own keys.
  const bool waiting = claim.waiter != WaiterId();
  if (waiting) {
    claim.entry.not_woken = claim.entry.place;
    claim.entry.not_woken_reads = claim.terms.reads();
  }
  Footprint& footprint = claim.footprint;
  if (planted(Mutant::minority_grants_kept) && waiting) footprint.nodes = NodeSet();
  if (planted(Mutant::clean_up_skipped_on_cancel) && !waiting) footprint.nodes = NodeSet();
  // If no node was asked, there is nothing to delete.
  if (footprint.nodes.empty() && footprint.unanswered == 0) return;
  if (claim.held.detached) return;
  // A waiter in the line retries often, usually without any grant. Nodes outside the footprint were
  // never asked, or answered that they set nothing, and each node is asked only once per claim, so
  // no key of ours can appear there: skip them. Every other claim is released everywhere, in case a
  // node answered wrongly.
  const Nodes& nodes = exchange_.nodes;
  const NodeSet all = claim.entry.ordered && !claim.held.won
                          ? NodeSet()
                          : exchange_.at_leisure(nodes.take_requests());
  exchange_.clean_up(id, all | (nodes.take_releases() & footprint.nodes));
}

/// Extends the clean-up to every node that may have the waiter's entry, not only the key.
void Cleanup::owe_entry(Time now, Claim& claim) const {
  if (!claim.entry.leaves) return;
  Footprint& footprint = claim.footprint;
  footprint.nodes = footprint.nodes | claim.entry.nodes;
  footprint.gone_at = std::max(footprint.gone_at, now + exchange_.longest_entry_life);
}

void Cleanup::take_out(Time now, const Claim& of, NodeSet nodes) {
  const ClaimId id = exchange_.new_claim(of.key(), {});
  Claim& claim = exchange_.claims[id];
  claim.others = of.others;
  claim.entry.place = of.entry.place;
  claim.terms.mode = of.terms.mode;
  claim.footprint.nodes = nodes;
  take_out(now, id);
}

void Cleanup::take_out(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  claim.phase = Phase::releasing;
  claim.entry.leaves = true;
  claim.footprint.gone_at = now + exchange_.longest_entry_life;
  exchange_.clean_up(id, exchange_.nodes.take_releases() & claim.footprint.nodes);
  forget_if_done(now, id);
}

/// Decides a release as soon as a quorum has deleted the key. If some nodes did not have it, the
/// others may show whether the lock had been lost; but once a quorum has answered, the lock is free
/// whatever they answer, so the others are given only a moment.
void Cleanup::decide(Time now, ClaimId id, Claim& claim) {
  const Tally& tally = claim.round.tally;
  std::optional<Errc> why;
  if (tally.granted() == Verdict::won) {
    why = std::nullopt;  // a quorum has deleted the key: the lock is free
  } else if (!tally.pending().empty() && now < claim.next_try) {
    if (claim.next_try == never && tally.reached() == Verdict::won) {
      claim.next_try = claim.round.patient_until(now);
      exchange_.timers.set(id.index, claim.next_try);
    }
    return;
  } else if (tally.reached() != Verdict::won) {
    why = Errc::no_quorum;
  } else if (tally.granted_by().empty()) {
    why = Errc::not_held;
  } else if (tally.certainly_gone()) {
    why = Errc::lost;  // some nodes still had the key, but no quorum can have held it
  }
  if (claim.next_try != never) exchange_.timers.clear(id.index);
  claim.asked_for = false;
  claim.round.close();
  exchange_.output(Released{claim.held.user, claim.by_token, why, tally});
}

void Cleanup::note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer) {
  const CommandKind kind = tag.kind;
  const Vote vote = answer.vote;
  Footprint& footprint = claim.footprint;
  if (kind != CommandKind::release &&
      (vote == Vote::granted || answer.replanted || maybe_executed(vote))) {
    footprint.gone_at = std::max(footprint.gone_at, now + footprint.longest_ttl);
  }
  // A later renewal may be on its way and set the key anew.
  if (kind != CommandKind::release && (tag.round != claim.round.number() || answer.replanted)) {
    return;
  }
  switch (kind) {
    case CommandKind::set:
    case CommandKind::acquire:
      if (vote != Vote::granted && !maybe_executed(vote)) footprint.nodes.remove(node);
      break;
    case CommandKind::raise:
    case CommandKind::renew:
    case CommandKind::release:
      if (kind == CommandKind::raise && vote == Vote::held) break;  // the counter, not the lock
      // If one key of several is no longer ours, the others may still be.
      if (kind != CommandKind::release && claim.others != nullptr) break;
      if (vote == Vote::held || vote == Vote::absent) footprint.nodes.remove(node);
      if (kind == CommandKind::release && vote == Vote::granted) footprint.nodes.remove(node);
      break;
    case CommandKind::queue:
    case CommandKind::query:
    case CommandKind::once:
    case CommandKind::renewals:
    case CommandKind::acquisitions:
    case CommandKind::releases:
    case CommandKind::repair:
    case CommandKind::witness:
    case CommandKind::clock: break;
  }
}

void Cleanup::forget_if_done(Time now, ClaimId id) {
  Claim* claim = exchange_.claims.find(id);
  if (claim == nullptr || claim->footprint.unanswered > 0 || claim->asked_for) return;
  if (claim->waiter != WaiterId()) return;
  if (claim->phase != Phase::releasing && claim->phase != Phase::extending) return;
  const Footprint& footprint = claim->footprint;
  const bool owed = claim->phase == Phase::releasing && !footprint.nodes.empty();
  if (owed && now < footprint.gone_at) {
    const bool refused = !(footprint.nodes & exchange_.nodes.take_releases()).empty();
    claim->next_try = refused ? now + exchange_.config.pause(exchange_.random) : never;
    exchange_.timers.set(id.index, std::min(claim->next_try, footprint.gone_at));
    return;
  }
  exchange_.timers.clear(id.index);
  exchange_.claims.give_back(id);
}

void Cleanup::on_due(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  if (claim.asked_for) {
    judge(now, id, claim);
    return forget_if_done(now, id);
  }
  const Footprint& footprint = claim.footprint;
  if (now < footprint.gone_at) {
    exchange_.clean_up(id, footprint.nodes & exchange_.nodes.take_releases());
  }
  forget_if_done(now, id);
}

void Cleanup::on_back(int node) {
  exchange_.claims.for_each([&](ClaimId id) {
    const Claim& claim = exchange_.claims[id];
    if (claim.phase == Phase::releasing && claim.footprint.nodes.contains(node)) {
      exchange_.clean_up(id, NodeSet::only(node));
    }
  });
}

}  // namespace quorumlock::core
