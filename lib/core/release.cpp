#include <algorithm>

#include "core/engine.hpp"

// Giving up a claim: deleting our keys wherever they may be, and forgetting the claim once no key
// can be left.
namespace quorumlock::core {

bool Engine::release(Time now, ClaimId id, bool report) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->phase != Phase::held) return false;
  if (claim->asked_for)
    output(Extended{claim->user, claim->by_token, Errc::not_held, claim->deadline, claim->tally});
  claim->asked_for = report;
  --held_;
  close_renewal(*claim);
  ++stats_.released;
  claim->phase = Phase::releasing;
  claim->next_try = never;
  open_round(now, *claim, Duration::zero());
  owe_leave(now, *claim);
  // Hand-over within this process: the release and the next waiter's attempt go out together, and
  // each node runs them in this order. A node grants only if no other waiter is before that one.
  const WaiterId heir = heir_of(now, *claim);
  if (Waiter* next = waiters_.find(heir)) {
    claim->not_woken = next->place;
    claim->not_woken_reads = next->terms.shared;
    for (int node = 0; claim->capacity != 0 && node < config_.nodes; ++node) {
      next->seen.learn_free(node, claim->slot);
    }
  } else if (claim->capacity != 0) {
    own_slots(claim->key()).leave(claim->slot);
  }
  send_round(id, CommandKind::release, takes_requests_ | (takes_releases_ & claim->may_hold));
  claim_timers_.clear(id.index);
  judge_release(now, id);
  forget_if_done(now, id);
  cause_ = Cause::hand_over;
  if (waiters_.find(heir) != nullptr) attempt(now, heir);
  cause_ = Cause::look;
  return true;
}

void Engine::forget(Time now, ClaimId id) {
  advance(now);
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->phase != Phase::held) return;
  claim->asked_for = false;
  claim->detached = true;
  claim->may_hold = NodeSet();
  give_up(now, id);
  forget_if_done(now, id);
}

void Engine::release_token(Time now, std::string_view key, std::string_view token, UserId user) {
  advance(now);
  const ClaimId id = new_claim(key, token);
  Claim& claim = claims_[id];
  claim.phase = Phase::releasing;
  claim.asked_for = claim.by_token = true;
  claim.user = user;
  open_round(now, claim, Duration::zero());
  send_round(id, CommandKind::release, takes_releases_);
  judge_release(now, id);
  forget_if_done(now, id);
}

/// Gives up a claim after a lost attempt or a lost lease. The round's tally stays: its late answers
/// still show whether a quorum was reached.
void Engine::give_up(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  if (claim.phase == Phase::held) --held_;
  if (claim.phase == Phase::acquiring) admission_.attempt_ends();
  close_renewal(claim);
  if (claim.capacity != 0) own_slots(claim.key()).drop(claim.slot);
  drop_ballot(claim);
  claim.phase = Phase::releasing;
  claim.round_open = false;
  claim.next_try = never;
  claim_timers_.clear(id.index);
  if (!claim.detached) owe_leave(now, claim);
  // The waiter goes on waiting, and needs no message about its own keys.
  if (waiters_.find(claim.waiter) != nullptr) {
    claim.not_woken = claim.place;
    claim.not_woken_reads = claim.terms.shared;
  }
  if (planted(Mutant::minority_grants_kept) && claim.place != 0 && !claim.leaves &&
      waiters_.find(claim.waiter) != nullptr) {
    claim.may_hold = NodeSet();
    return;
  }
  // If no node was asked, there is nothing to delete.
  if (claim.may_hold.empty() && claim.unanswered == 0) return;
  if (claim.detached) return;
  if (planted(Mutant::resend_without_refresh) && waiters_.find(claim.waiter) != nullptr) return;
  // A waiter in the line retries often, usually without any grant. Nodes outside may_hold were
  // never asked, or answered that they set nothing, and each node is asked only once per claim, so
  // no key of ours can appear there: skip them. Every other claim is released everywhere, in case a
  // node answered wrongly.
  const NodeSet all = claim.ordered && !claim.won ? NodeSet() : takes_requests_;
  clean_up(id, all | (takes_releases_ & claim.may_hold));
}

/// Extends the clean-up to every node that may have the waiter's entry, not only the key.
void Engine::owe_leave(Time now, Claim& claim) {
  if (!claim.leaves) return;
  claim.may_hold = claim.may_hold | claim.entered;
  claim.keys_die = std::max(claim.keys_die, now + config_.entry_life);
}

/// Takes the entry of a lease that will never be released out of the line on the nodes that did not
/// grant. A node that granted has marked the entry, which goes with the key; on the others it would
/// block the line for the rest of its life.
void Engine::leave_where_refused(Time now, const Claim& claim) {
  const NodeSet unmarked = claim.entered - claim.standing;
  if (!claim.leaves || unmarked.empty()) return;
  const ClaimId id = new_claim(claim.key(), {});
  Claim& entry = claims_[id];
  entry.others = claim.others;
  entry.place = claim.place;
  entry.terms.shared = claim.terms.shared;
  entry.may_hold = unmarked;
  leave(now, id);
}

/// Sends a release whose answers are not counted.
void Engine::clean_up(ClaimId id, NodeSet nodes) {
  send(id, Tag{id, uncounted, CommandKind::release}, nodes);
}

/// Decides a release as soon as a quorum has deleted the key. If some nodes did not have it, the
/// others may show whether the lock had been lost; but once a quorum has answered, the lock is free
/// whatever they answer, so the others are given only a moment.
void Engine::judge_release(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  if (!claim.asked_for) return;
  const Tally& tally = claim.tally;
  std::optional<Errc> why;
  if (tally.granted() == Verdict::won) {
    why = std::nullopt;  // a quorum has deleted the key: the lock is free
  } else if (!tally.pending().empty() && now < claim.next_try) {
    if (claim.next_try == never && tally.reached() == Verdict::won) {
      claim.next_try = patient_until_of(now, claim);
      claim_timers_.set(id.index, claim.next_try);
    }
    return;
  } else if (tally.reached() != Verdict::won) {
    why = Errc::no_quorum;
  } else if (tally.granted_by().empty()) {
    why = Errc::not_held;
  } else if (tally.certainly_gone()) {
    why = Errc::lost;  // some nodes still had the key, but no quorum can have held it
  }
  if (claim.next_try != never) claim_timers_.clear(id.index);
  claim.asked_for = false;
  claim.round_open = false;
  output(Released{claim.user, claim.by_token, why, tally});
}

/// Keeps track of the nodes that may have a key of ours, and until when: a key that was set or
/// renewed late lives for a whole ttl from then, not from when the command was sent.
void Engine::note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer) {
  const CommandKind kind = tag.kind;
  const bool replanted = answer.replanted;
  const Vote vote = answer.vote;
  if (kind != CommandKind::release &&
      (vote == Vote::granted || replanted || maybe_executed(vote))) {
    claim.keys_die = std::max(claim.keys_die, now + claim.longest_ttl);
  }
  // A later renewal may be on its way and set the key anew.
  if (kind != CommandKind::release && (tag.round != claim.round || replanted)) return;
  switch (kind) {
    case CommandKind::set:
    case CommandKind::acquire:
      if (vote != Vote::granted && !maybe_executed(vote)) claim.may_hold.remove(node);
      break;
    case CommandKind::raise:
    case CommandKind::renew:
    case CommandKind::release:
      if (kind == CommandKind::raise && vote == Vote::held) break;  // the counter, not the lock
      // If one key of several is no longer ours, the others may still be.
      if (kind != CommandKind::release && claim.others != nullptr) break;
      if (vote == Vote::held || vote == Vote::absent) claim.may_hold.remove(node);
      if (kind == CommandKind::release && vote == Vote::granted) claim.may_hold.remove(node);
      break;
    case CommandKind::queue:
    case CommandKind::query:
    case CommandKind::renewals:
    case CommandKind::acquisitions:
    case CommandKind::releases:
    case CommandKind::repair:
    case CommandKind::clock: break;
  }
}

/// Forgets the claim once every answer has arrived and no node can have a key of ours. If a node
/// may have one, the claim waits for the node's return (on_link), or for another try if the node is
/// there and refused, and at the longest until the key has run out by itself.
void Engine::forget_if_done(Time now, ClaimId id) {
  Claim* claim = claims_.find(id);
  if (claim == nullptr || claim->unanswered > 0 || claim->asked_for) return;
  if (waiters_.find(claim->waiter) != nullptr) return;
  if (claim->phase != Phase::releasing && claim->phase != Phase::extending) return;
  const bool owed = claim->phase == Phase::releasing && !claim->may_hold.empty();
  if (owed && now < claim->keys_die) {
    const bool refused = !(claim->may_hold & takes_releases_).empty();
    claim->next_try =
        refused ? now + config_.retry_delay + random_.below(config_.retry_jitter) : never;
    claim_timers_.set(id.index, std::min(claim->next_try, claim->keys_die));
    return;
  }
  claim_timers_.clear(id.index);
  claims_.give_back(id);
}

void Engine::on_releasing_due(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  if (claim.asked_for) {
    judge_release(now, id);
    return forget_if_done(now, id);
  }
  if (now < claim.keys_die) clean_up(id, claim.may_hold & takes_releases_);
  forget_if_done(now, id);
}

}  // namespace quorumlock::core
