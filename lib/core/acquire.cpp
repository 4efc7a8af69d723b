#include <string>

#include "core/engine.hpp"
#include "core/validity.hpp"

// Waiting for a lock: one attempt after the other, each a claim of its own.
namespace quorumlock::core {
namespace {

/// Where nodes contradict the options, waiting changes nothing: that is then the reason to tell.
Errc why_unreached(const Tally& tally) {
  for (int node = 0; node < tally.nodes(); ++node) {
    const Vote vote = tally.vote(node);
    if (vote == Vote::max_ttl_differs || vote == Vote::groups_differ || vote == Vote::same_server ||
        vote == Vote::capacity_differs) {
      return Errc::misconfigured;
    }
  }
  return Errc::no_quorum;
}

/// Empty, so that the token is drawn; all the same for all attempts of a waiter where that mistake
/// is planted.
std::string mutant_token(WaiterId id) {
  if (!planted(Mutant::token_reused) && !planted(Mutant::resend_without_refresh)) return {};
  return "reused-" + std::to_string(id.index) + "-" + std::to_string(id.generation);
}

}  // namespace

void Engine::acquire(Time now, const AcquireRequest& request, WaiterId* id_out) {
  advance(now);
  const WaiterId id = waiters_.take();
  Waiter& waiter = waiters_[id];
  waiter.key.assign(request.key);
  waiter.others = nullptr;
  if (!request.others.empty()) {
    waiter.others = std::make_shared<const std::vector<std::string>>(request.others.begin(),
                                                                     request.others.end());
  }
  waiter.terms = request.terms;
  waiter.user = request.user;
  waiter.began = now;
  waiter.wait_until = request.wait_until;
  waiter.waits = request.waits;
  waiter.attempts = 0;
  waiter.last.begin(config_.nodes);
  waiter.last_why = Errc::no_quorum;
  waiter.ordered = request.ordered && request.waits;
  waiter.settled = false;
  waiter.tries = 0;
  waiter.place = waiter.ticket = waiter.greatest = 0;
  waiter.entered = waiter.heard = waiter.ready = waiter.next = NodeSet();
  waiter.look_at = never;
  waiter.not_before = now;
  waiter.watches = waiter.woken = false;
  waiter.capacity = request.capacity;
  waiter.slot = waiter.other_capacity = 0;
  if (waiter.capacity != 0) begin_permit(waiter);
  if (id_out != nullptr) *id_out = id;
  if (waiter.waits) waiter_timers_.set(id.index, waiter.wait_until);
  if (waiter.ordered && wait_in_line(now, id)) return;
  attempt(now, id);
}

void Engine::attempt(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  ++waiter.attempts;
  ++stats_.attempts;
  waiter.cause = cause_;
  waiter.pausing = false;
  waiter.ready = NodeSet();
  waiter.look_at = never;
  if (waiter.capacity != 0) choose_slot(now, waiter);
  const ClaimId claim_id = new_claim(waiter.key, mutant_token(id));
  waiter.claim = claim_id;
  Claim& claim = claims_[claim_id];
  claim.phase = Phase::acquiring;
  claim.others = waiter.others;
  claim.terms = waiter.terms;
  claim.waiter = id;
  claim.ordered = waiter.ordered;
  claim.capacity = waiter.capacity;
  claim.slot = waiter.slot;
  claim.place = waiter.place;
  claim.ticket = planted(Mutant::hand_over_past_others) ? 0 : waiter.ticket;
  if (waiter.place != 0) waiter_timers_.set(id.index, waiter.wait_until);
  open_round(now, claim, waiter.terms.ttl);
  claim.hold_limit = later(now, waiter.terms.max_hold);
  claim.deadline =
      std::min(valid_until(now, waiter.terms.ttl, config_.drift_factor), claim.hold_limit);
  if (config_.fencing) {
    claim.fence = fence_seen(waiter);
    claim.ballot = ballots_.take();
    ballots_[claim.ballot].begin(claim.fence);
    claim.may_be_native = may_be_native(now, waiter, claim.fence);
  }
  const NodeSet asked = voters(now);
  if (waiter.place != 0) waiter.entered = waiter.entered | asked;
  const bool scripted = config_.fencing || waiter.ordered || waiter.terms.shared ||
                        waiter.others != nullptr || waiter.capacity != 0;
  send_round(claim_id, scripted ? CommandKind::acquire : CommandKind::set, asked);
  claim_timers_.set(claim_id.index, claim.deadline);
  judge_acquire(now, claim_id, claim);
  forget_if_done(now, claim_id);
}

/// Whether the nodes' own commands are likely to do for what else takes a script: nobody is known
/// to wait, and the lock's last lease was ours, so that the counters are there and equal. Where one
/// of them is not it begins at one, and must not be taken for theirs: they are to be far above, and
/// young enough to be there.
bool Engine::may_be_native(Time now, const Waiter& waiter, std::uint64_t seen) {
  if (!natives_ || waiter.others != nullptr || waiter.capacity != 0 || waiter.terms.shared ||
      waiter.place != 0 || !fences_seen_.settled(waiter.key)) {
    return false;
  }
  return seen + counter_life_us / 4 * 3 > ticket_clock(now) && !waited_for(now, waiter.key);
}

/// Somebody was seen in its line, or is there for us.
bool Engine::waited_for(Time now, std::string_view key) {
  const bool here = !lines_.empty() && lines_.contains(key);
  return here || waited_for_.was(now, key, config_.entry_life / 3);
}

void Engine::judge_acquire(Time now, ClaimId id, Claim& claim) {
  switch (claim.tally.granted()) {
    case Verdict::pending: return;
    case Verdict::won:
      if (now >= claim.deadline && !planted(Mutant::deadline_not_checked)) break;  // too late
      if (planted(Mutant::validity_from_decision)) {
        claim.deadline = valid_until(now, claim.terms.ttl, config_.drift_factor);
      }
      if (fence_decided(id)) win(now, id);
      return;
    case Verdict::lost: break;
  }
  give_up(now, id);
  settle(now, id);
}

/// Whether a quorum stands for one and the same number, which is then the fencing token. Where the
/// nodes that granted have different ones, as soon as a quorum has granted, all are asked to raise
/// theirs to the greatest that was seen: one more round, and another wherever a counter turns out
/// to be as high already. Raised only where the key is ours, so the deadline is that of the locks.
bool Engine::fence_decided(ClaimId id) {
  Claim& claim = claims_[id];
  if (!config_.fencing) return true;
  Ballot& ballot = ballots_[claim.ballot];
  const NodeSet granted = claim.tally.granted_by();
  const std::uint64_t wanted = ballot.target() != 0 ? ballot.target() : ballot.most_common(granted);
  if (planted(Mutant::greatest_without_a_raise)) {
    claim.fence = ballot.greatest();
    return true;
  }
  // Zero is what nodes stand for whose number was no vote.
  if (wanted != 0 &&
      ballot.standing_for(wanted, granted).size() >= quorum_of(claim.tally.nodes())) {
    claim.fence = wanted;
    return true;
  }
  if (!(ballot.raising() & granted).empty()) return false;
  claim.fence = ballot.raise_target();
  // Asked of all it would do no harm, with the scripts as they are.
  const bool of_all =
      planted(Mutant::raise_without_owner) || planted(Mutant::raise_acknowledged_when_greater);
  const NodeSet others =
      (of_all ? takes_requests_ : granted) - ballot.standing_for(claim.fence, granted);
  ballot.ask(others);
  send(id, Tag{id, claim.round, CommandKind::raise}, others);
  return false;
}

void Engine::win(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  drop_ballot(claim);
  claim.standing = claim.tally.granted_by();
  Waiter& waiter = waiters_[claim.waiter];
  if (config_.fencing) fences_seen_.settle(claim.key(), claim.fence);
  note_win(claim, waiter);
  claim.phase = Phase::held;
  claim.won = true;
  claim.round_open = false;
  claim.next_try = next_renewal(id);
  ++held_;
  schedule_held(id);
  output(Acquired{waiter.user, id, waiter.attempts});
  if (claim.capacity == 0) {
    claim.leaves = waiter.place != 0;
    claim.entered = waiter.entered;
  } else {
    leave(now, waiter);  // there may be another permit, and it is the next one's turn
  }
  drop_place(waiter);
  judge_wake(claim.waiter, true);
  drop_watch(claim.waiter);
  waiter_timers_.clear(claim.waiter.index);
  waiters_.give_back(claim.waiter);
  claim.waiter = WaiterId();
}

/// Tells the waiter of an attempt that was given up, once it is clear why: whether a quorum of
/// nodes could be reached at all may be known only after the attempt is lost.
void Engine::settle(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  Waiter* waiter = waiters_.find(claim.waiter);
  if (waiter == nullptr) return;
  if (claim.native_refused && now < claim.deadline) return attempt_by_script(now, claim);
  const Verdict reached = claim.tally.reached();
  if (waiter->capacity != 0 && try_another_slot(now, claim)) return;
  if (waiter->ordered) {
    const bool hopeless =
        reached == Verdict::lost && why_unreached(claim.tally) == Errc::misconfigured;
    if (!hopeless) return lost_in_line(now, id);
    leave(now, *waiter);
  }
  if (reached == Verdict::pending) return;

  const WaiterId waiter_id = claim.waiter;
  claim.waiter = WaiterId();
  waiter->last_why = reached == Verdict::won ? Errc::contended : why_unreached(claim.tally);
  waiter->last = claim.tally;
  if (!waiter->waits || waiter->last_why == Errc::misconfigured)
    return refuse(waiter_id, waiter->last_why, waiter->last);
  waiter->pausing = true;
  judge_wake(waiter_id, false);
  waiter->retry_at = later(now, config_.retry_delay + random_.below(config_.retry_jitter));
  if (claim.frees_at != never) {
    // Somewhere it runs out before that; not all who wait for it at the same moment.
    waiter->retry_at =
        std::min(waiter->retry_at, std::max(claim.frees_at, now) + std::chrono::milliseconds(1) +
                                       random_.below(config_.retry_jitter / 4));
  }
  waiter_timers_.set(waiter_id.index, std::min(waiter->retry_at, waiter->wait_until));
  watch(waiter_id);
}

/// The same attempt once more: what the script does for ended readers and waiters the nodes' own
/// commands have not done, nor has the user who may run the one to be allowed the others.
void Engine::attempt_by_script(Time now, Claim& claim) {
  const WaiterId id = claim.waiter;
  Waiter& waiter = waiters_[id];
  claim.waiter = WaiterId();
  fences_seen_.unsettle(claim.key());
  // Should the wait end in the middle of the second round.
  if (claim.tally.reached() == Verdict::won) waiter.last_why = Errc::contended;
  waiter.last = claim.tally;
  --waiter.attempts;
  --stats_.attempts;
  attempt(now, id);
}

void Engine::on_waiter_due(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (now >= waiter.wait_until) {
    // An attempt cut short says why only where it has heard from a quorum; else the last one does.
    const Claim* claim = waiter.pausing ? nullptr : claims_.find(waiter.claim);
    if (claim != nullptr && claim->tally.reached() == Verdict::won) {
      waiter.last_why = Errc::contended;
    }
    if (waiter.ordered && waiter.pausing && waiter.attempts > 0) {
      const bool reached = waiter.last.reached() == Verdict::won;
      waiter.last_why = reached ? Errc::contended : why_unreached(waiter.last);
    }
    const bool contended = waiter.last_why == Errc::contended;
    return cancel(now, id, contended ? Errc::timed_out : Errc::no_quorum);
  }
  if (waiter.ordered) return on_line_due(now, id);
  if (waiter.waits) waiter_timers_.set(id.index, waiter.wait_until);
  attempt(now, id);
}

void Engine::cancel(Time now, WaiterId id, Errc why) {
  Waiter* waiter = waiters_.find(id);
  if (waiter == nullptr) return;
  const ClaimId claim_id = waiter->pausing ? ClaimId() : waiter->claim;
  Claim* claim = claims_.find(claim_id);
  if (waiter->place != 0) {
    if (claim != nullptr && claim->phase == Phase::acquiring) {
      claim->leaves = true;
      claim->entered = waiter->entered;
    } else {
      leave(now, *waiter);
    }
  }
  refuse(id, why, claim != nullptr && waiter->attempts == 1 ? claim->tally : waiter->last);
  if (claim == nullptr) return;
  claim->waiter = WaiterId();
  if (planted(Mutant::clean_up_skipped_on_cancel)) {
    claim->may_hold = NodeSet();
    claim->detached = true;
  }
  if (claim->phase == Phase::acquiring) give_up(now, claim_id);
  forget_if_done(now, claim_id);
}

void Engine::refuse(WaiterId id, Errc why, const Tally& tally) {
  Waiter& waiter = waiters_[id];
  note_refusal(waiter, why);
  output(Refused{waiter.user, why, waiter.attempts, tally, waiter.other_capacity});
  drop_place(waiter);
  drop_watch(id);
  waiter_timers_.clear(id.index);
  waiters_.give_back(id);
}

}  // namespace quorumlock::core
