#include <algorithm>

#include "core/engine.hpp"

// Giving up: deleting our keys wherever they may be, and forgetting the claim once none can be
// left.
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
  open_round(now, *claim, Duration::zero());
  owe_leave(now, *claim);
  // Hand-over within this process: the release and what its next waiter asks for go out together,
  // and each node runs them in this order. It grants only where nobody else has come before.
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
  judge_release(*claim);
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
  judge_release(claim);
  forget_if_done(now, id);
}

/// After a lost attempt or a lost lease. The round's tally stays: its late answers still say
/// whether a quorum could be reached.
void Engine::give_up(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  if (claim.phase == Phase::held) --held_;
  close_renewal(claim);
  if (claim.capacity != 0) own_slots(claim.key()).drop(claim.slot);
  drop_ballot(claim);
  claim.phase = Phase::releasing;
  claim.round_open = false;
  claim.next_try = never;
  claim_timers_.clear(id.index);
  if (!claim.detached) owe_leave(now, claim);
  // The one who goes on waiting, and needs no message about its own keys.
  if (waiters_.find(claim.waiter) != nullptr) {
    claim.not_woken = claim.place;
    claim.not_woken_reads = claim.terms.shared;
  }
  if (planted(Mutant::minority_grants_kept) && claim.place != 0 && !claim.leaves &&
      waiters_.find(claim.waiter) != nullptr) {
    claim.may_hold = NodeSet();
    return;
  }
  // A claim that no node was asked for has nothing to delete.
  if (claim.may_hold.empty() && claim.unanswered == 0) return;
  if (claim.detached) return;
  if (planted(Mutant::resend_without_refresh) && waiters_.find(claim.waiter) != nullptr) return;
  // Who waits in the line asks often, and mostly no node has granted anything. Those outside of
  // may_hold were not asked, or have said themselves that they set nothing; the claim asks each
  // once, so no key can come there any more. Other claims tell all the same, for the sake of a node
  // that says what is not so.
  const NodeSet all = claim.ordered && !claim.won ? NodeSet() : takes_requests_;
  clean_up(id, all | (takes_releases_ & claim.may_hold));
}

/// The entry is to go wherever it may be, not only where the key is.
void Engine::owe_leave(Time now, Claim& claim) {
  if (!claim.leaves) return;
  claim.may_hold = claim.may_hold | claim.entered;
  claim.keys_die = std::max(claim.keys_die, now + config_.entry_life);
}

/// A release whose answers nobody counts.
void Engine::clean_up(ClaimId id, NodeSet nodes) {
  send(id, Tag{id, uncounted, CommandKind::release}, nodes);
}

void Engine::judge_release(Claim& claim) {
  if (!claim.asked_for) return;
  const Tally& tally = claim.tally;
  std::optional<Errc> why;
  if (tally.granted() == Verdict::won) {
    why = std::nullopt;  // a quorum has deleted it: free for the next
  } else if (!tally.pending().empty()) {
    return;
  } else if (tally.reached() != Verdict::won) {
    why = Errc::no_quorum;
  } else if (tally.granted_by().empty()) {
    why = Errc::not_held;
  } else if (tally.certainly_gone()) {
    why = Errc::lost;  // it was on some nodes still, but no quorum can have held it
  }
  claim.asked_for = false;
  claim.round_open = false;
  output(Released{claim.user, claim.by_token, why, tally});
}

/// Keeps track of where a key of ours may be, and until when: one that was set or renewed late
/// lives for a whole ttl from then, not from the question.
void Engine::note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer) {
  const CommandKind kind = tag.kind;
  const bool replanted = answer.replanted;
  const Vote vote = answer.key_set ? Vote::granted : answer.vote;
  if (kind != CommandKind::release &&
      (vote == Vote::granted || replanted || maybe_executed(vote))) {
    claim.keys_die = std::max(claim.keys_die, now + claim.longest_ttl);
  }
  // A later renewal may be on its way, and set the key anew.
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
      // Where one key of several is not ours any more the others may be.
      if (kind != CommandKind::release && claim.others != nullptr) break;
      if (vote == Vote::held || vote == Vote::absent) claim.may_hold.remove(node);
      if (kind == CommandKind::release && vote == Vote::granted) claim.may_hold.remove(node);
      break;
    case CommandKind::queue:
    case CommandKind::query:
    case CommandKind::renewals:
    case CommandKind::acquisitions:
    case CommandKind::releases:
    case CommandKind::repair: break;
  }
}

/// The claim goes once every answer is in and no node can have a key of ours. Where one may, the
/// claim waits: for the node's return (on_link), for another try where the node is there and
/// refused, and at the longest until the key has run out by itself.
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
  if (now < claim.keys_die) clean_up(id, claim.may_hold & takes_releases_);
  forget_if_done(now, id);
}

}  // namespace quorumlock::core
