#include <string>

#include "core/engine.hpp"
#include "core/validity.hpp"

// Waiting for a lock: consecutive attempts, each of which has a claim of its own.
namespace quorumlock::core {
namespace {

/// Why no quorum was reached. If a node contradicts the options, the reason to report is that one,
/// since waiting would change nothing.
Errc why_unreached(const Tally& tally) {
  for (int node = 0; node < tally.nodes(); ++node) {
    const Vote vote = tally.vote(node);
    if (vote == Vote::max_ttl_differs || vote == Vote::groups_differ ||
        vote == Vote::terms_differ || vote == Vote::same_server || vote == Vote::capacity_differs) {
      return Errc::misconfigured;
    }
  }
  return Errc::no_quorum;
}

/// Returns an empty token, so that one is drawn; if one of these mistakes is planted, the waiter's
/// attempts share a token.
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
  waiter.holder = 0;
  waiter.polls = false;
  waiter.watches = waiter.woken = false;
  waiter.capacity = request.capacity;
  waiter.slot = waiter.other_capacity = 0;
  waiter.pausing = false;
  waiter.claim = ClaimId();
  if (id_out != nullptr) *id_out = id;
  if (waiter.waits) waiter_timers_.set(id.index, waiter.wait_until);
  if (admission_.must_queue()) return admit(now, id);
  begin(now, id);
}

void Engine::attempt(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  ++waiter.attempts;
  ++stats_.attempts;
  admission_.attempt_begins();
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

/// Whether a waiter was seen in the key's line lately, or one of ours is in it.
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

/// Whether a quorum voted for one and the same number, which is then the fencing token. If a quorum
/// has granted, but with different numbers, all of its nodes are asked to raise theirs to the
/// greatest number seen, and so is each node that grants later. The number grows as soon as a
/// quorum of nodes has answered every command and does not agree: a silent node is never waited for
/// while a quorum of the others can decide. A counter is raised only if the node's key is ours, so
/// the deadline is that of the locks.
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
  if (ballot.standing_for(wanted, granted).size() >= quorum_of(claim.tally.nodes())) {
    claim.fence = wanted;
    return true;
  }
  const NodeSet idle = granted - ballot.raising();
  if (planted(Mutant::silent_node_waited_for) && idle != granted) return false;
  if (ballot.target() == 0 || idle.size() >= quorum_of(claim.tally.nodes())) {
    claim.fence = ballot.raise_target();
  }
  // Planted mistakes ask all nodes; the scripts as they are would make that harmless.
  const bool of_all =
      planted(Mutant::raise_without_owner) || planted(Mutant::raise_acknowledged_when_greater);
  const NodeSet others = ballot.to_ask(of_all ? takes_requests_ : granted);
  ballot.ask(others);
  send(id, Tag{id, claim.round, CommandKind::raise}, others);
  return false;
}

void Engine::win(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  admission_.attempt_ends();
  drop_ballot(claim);
  claim.standing = claim.tally.granted_by();
  Waiter& waiter = waiters_[claim.waiter];
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
    leave(now, waiter);  // another permit may be free for the next waiter
  }
  drop_place(waiter);
  judge_wake(claim.waiter, true);
  drop_watch(claim.waiter);
  waiter_timers_.clear(claim.waiter.index);
  waiters_.give_back(claim.waiter);
  claim.waiter = WaiterId();
}

/// Gives the waiter the verdict of an attempt that was given up, once the reason is clear: whether
/// a quorum of nodes was reached at all may be known only after the attempt is lost.
void Engine::settle(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  Waiter* waiter = waiters_.find(claim.waiter);
  if (waiter == nullptr) return;
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
  Duration pause = config_.retry_delay + random_.below(config_.retry_jitter);
  // An attempt that could not ask a quorum is lost at once; the next must not follow at once.
  if (waiter->last_why == Errc::no_quorum) pause = std::max(pause, shortest_pause);
  waiter->retry_at = later(now, pause);
  if (claim.frees_at != never) {
    // A holder's key may expire before that; the jitter keeps waiters from all trying then.
    waiter->retry_at =
        std::min(waiter->retry_at, std::max(claim.frees_at, now) + std::chrono::milliseconds(1) +
                                       random_.below(config_.retry_jitter / 4));
  }
  waiter_timers_.set(waiter_id.index, std::min(waiter->retry_at, waiter->wait_until));
  watch(waiter_id);
}

void Engine::on_waiter_due(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (admission_.is_queued(id)) return refuse_unsent(id);
  if (now >= waiter.wait_until) {
    // An attempt cut short gives the reason only if a quorum has answered it; otherwise the
    // reason of the attempt before stands.
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
  if (enters_late(now, id)) return;
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
  if (claim->phase == Phase::acquiring) {
    if (planted(Mutant::turn_kept)) admission_.attempt_begins();
    give_up(now, claim_id);
  }
  forget_if_done(now, claim_id);
}

void Engine::refuse(WaiterId id, Errc why, const Tally& tally,
                    std::optional<std::uint64_t> unsent_before) {
  Waiter& waiter = waiters_[id];
  note_refusal(waiter, why);
  output(Refused{waiter.user, why, waiter.attempts, tally, waiter.other_capacity, unsent_before});
  admission_.leave(id);
  drop_place(waiter);
  drop_watch(id);
  waiter_timers_.clear(id.index);
  waiters_.give_back(id);
}

}  // namespace quorumlock::core
