#include "lock/acquisitions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "lock/quorum.hpp"
#include "lock/statistics.hpp"
#include "lock/validity.hpp"

namespace quorumlock::core {
namespace {

/// As many acquisitions as go out in one batch.
constexpr int most_in_a_row = 32;

}  // namespace

Acquisitions::Acquisitions(Exchange& exchange, Permits& permits, Cleanup& cleanup, Leases& leases)
    : exchange_(exchange),
      permits_(permits),
      cleanup_(cleanup),
      leases_(leases),
      lines_(exchange, waiters_, permits, cleanup) {}

// --- From the request to an attempt --------------------------------------------------------------

/// Without a wait the first attempt is queued for send_within.
void Acquisitions::acquire(Time now, const AcquireRequest& request, WaiterId* id_out) {
  const WaiterId id = waiters_.take();
  Acquisition& acquisition = waiters_[id];
  acquisition.begin(request, now, exchange_.nodes.all());
  if (id_out != nullptr) *id_out = id;
  acquisition.note(now, TraceKind::begun);
  if (acquisition.waits) waiters_.timers.set(id.index, acquisition.wait_until);
  if (exchange_.is_at_leisure()) return begin(now, id);
  Admission& admission = exchange_.admission;
  admission.queue(id, Admission::For::first);
  acquisition.note(now, TraceKind::queued, admission.before(id));
  if (!acquisition.waits) {
    waiters_.timers.set(id.index, later(now, exchange_.config.send_within));
  }
}

bool Acquisitions::send_queued(Time now) {
  if (!exchange_.has_room()) return false;
  for (int kinds = 0; kinds <= 3; ++kinds) {
    const auto what = static_cast<Admission::For>(kind_);
    if (in_a_row_ < most_in_a_row && send_queued(now, what)) {
      ++in_a_row_;
      return true;
    }
    kind_ = (kind_ + 1) % 3;
    in_a_row_ = 0;
  }
  return false;
}

/// A waiter that was never sent stays in the queue while too many nodes are silent. Otherwise the
/// attempts of the whole queue would be lost at once, and all of them would enter the line.
bool Acquisitions::send_queued(Time now, Admission::For what) {
  Admission& admission = exchange_.admission;
  if (!admission.has(what)) return false;
  if (what == Admission::For::entry) {
    lines_.send_queued(now);
    return true;
  }
  const bool is_first = what == Admission::For::first;
  const Acquisition& acquisition = waiters_[admission.first(what)];
  if (is_first && acquisition.waits && exchange_.nodes.too_silent()) return false;
  const WaiterId id = admission.take(what);
  if (!is_first) {
    attempt(now, id);
  } else {
    if (!acquisition.waits) waiters_.timers.clear(id.index);
    begin(now, id);
  }
  return true;
}

/// Makes the first attempt. If others wait for the lock, enters the line at once, since the attempt
/// would be refused.
void Acquisitions::begin(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  if (acquisition.permit) permits_.begin(acquisition);
  if (!acquisition.in_line || !lines_.others_wait(now, acquisition)) return attempt(now, id);
  ++acquisition.attempts;
  lines_.enter(now, id);
}

/// Makes another attempt, or the first one of a turn in the line, as soon as there is room.
void Acquisitions::try_again(Time now, WaiterId id) {
  Admission& admission = exchange_.admission;
  if (admission.is_queued(id, Admission::For::turn)) return;
  Acquisition& acquisition = waiters_[id];
  acquisition.cause = cause_;
  if (exchange_.is_at_leisure()) return attempt(now, id);
  if (admission.is_queued(id)) acquisition.in_line->refresh_owed = true;  // for its entry
  admission.queue(id, Admission::For::turn);
}

void Acquisitions::attempt(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  const Config& config = exchange_.config;
  ++acquisition.attempts;
  ++exchange_.stats.attempts;
  acquisition.pausing = false;
  std::optional<InLine>& in_line = acquisition.in_line;
  if (in_line) {
    in_line->ready = NodeSet();
    in_line->look_at = never;
  }
  if (acquisition.permit) permits_.choose(now, acquisition);
  // A claim without a given token draws a new one.
  const std::string token = planted(Mutant::token_reused) ? std::to_string(acquisition.user) : "";
  const ClaimId claim_id = exchange_.new_claim(acquisition.key, token);
  acquisition.claim = claim_id;
  Claim& claim = exchange_.claims[claim_id];
  claim.phase = Phase::acquiring;
  claim.others = acquisition.others;
  claim.terms = acquisition.terms;
  claim.waiter = id;
  if (acquisition.permit) {
    claim.permit = {acquisition.permit->capacity, acquisition.permit->slot};
  }
  if (in_line) {
    claim.entry.ordered = true;
    claim.entry.place = in_line->place;
    claim.entry.ticket = in_line->ticket;
    if (in_line->place != 0) waiters_.timers.set(id.index, acquisition.wait_until);
  }
  const Duration ttl = acquisition.terms.ttl;
  exchange_.open_round(now, claim, ttl);
  claim.held.limit = later(now, acquisition.terms.max_hold);
  claim.deadline = std::min(valid_until(now, ttl, config.drift_factor), claim.held.limit);
  if (config.fencing) {
    std::uint64_t seen = 0;
    each_key(acquisition.key, acquisition.others,
             [&](std::string_view key) { seen = std::max(seen, fences_seen_.of(key)); });
    exchange_.count_fences(claim, seen);
  }
  const NodeSet asked = exchange_.at_leisure(exchange_.worth_asking(exchange_.nodes.voters(now)));
  if (acquisition.place() != 0) in_line->entered = in_line->entered | asked;
  const bool changes = exchange_.nodes.list_changes();
  const bool plain = !config.fencing && !in_line && acquisition.is_plain();
  const CommandKind command = plain && !changes ? CommandKind::set : CommandKind::acquire;
  exchange_.send_round(claim_id, command, asked);
  claim.traced = acquisition.trace != nullptr;
  if (claim.traced) [[unlikely]]
    acquisition.note_attempt(now, asked, exchange_.nodes.connecting(), claim.round.tally);
  exchange_.timers.set(claim_id.index, claim.deadline);
  judge(now, claim_id, claim);
  cleanup_.forget_if_done(now, claim_id);
}

// --- From the answers to a verdict ---------------------------------------------------------------

/// Most answers to a claim say the same, so this is rarely called for one that says more.
void Acquisitions::note_fence(Time now, Claim& claim, std::uint64_t fence) {
  if (fence > exchange_.nodes.counts_up_to(now, fence)) return;
  each_key(claim.key(), claim.others, [&](std::string_view key) { fences_seen_.note(key, fence); });
  claim.fencing.noted = fence;
}

void Acquisitions::hear_in_line(Time now, int node, const Claim& claim, const Answer& answer) {
  const WaiterId woken = lines_.hear(now, node, claim, answer);
  if (woken != WaiterId()) try_again(now, woken);
}

/// Notes what the answer to a refused acquisition, or to its clean-up, reports of other slots.
void Acquisitions::hear_slot(Time now, int node, const Claim& claim, const Answer& answer) {
  Acquisition* const acquisition = waiters_.find(claim.waiter);
  if (acquisition != nullptr && answer.capacity != 0) {
    acquisition->permit->other_capacity = answer.capacity;
  }
  if (answer.vote != Vote::held) return;
  const std::uint64_t place = claim.entry.place;
  Acquisition* const learner = place != 0 ? lines_.at(place) : acquisition;
  if (learner == nullptr) return;
  learner->permit->seen.learn(node, claim.permit.slot, answer.free_slot);
  if (place == 0 || answer.free_slot == 0) return;
  const WaiterId woken = lines_.wake(now, node, place, answer.free_slot);
  if (woken != WaiterId()) try_again(now, woken);
}

void Acquisitions::judge(Time now, ClaimId id, Claim& claim) {
  switch (claim.round.tally.granted()) {
    case Verdict::pending: return;
    case Verdict::won: {
      // Each input calls advance() first, so an attempt that is too late has been given up.
      if (planted(Mutant::validity_from_decision)) {
        claim.deadline = valid_until(now, claim.terms.ttl, exchange_.config.drift_factor);
      }
      if (!exchange_.config.fencing) return win(now, id);
      const Round::Fence fence = claim.round.judge_fence(*exchange_.ballot_of(claim));
      claim.fencing.number = fence.number;
      if (fence.decided) return win(now, id);
      for (const int node : fence.to_raise) note(now, claim, TraceKind::raising, node);
      return exchange_.send(id, Tag{id, claim.round.number(), CommandKind::raise}, fence.to_raise);
    }
    case Verdict::lost: break;
  }
  give_up(now, id);
  settle(now, id);
}

void Acquisitions::on_deadline(Time now, ClaimId id) {
  if (planted(Mutant::deadline_not_checked)) return;
  give_up(now, id);
  settle(now, id);
  cleanup_.forget_if_done(now, id);
}

void Acquisitions::give_up(Time now, ClaimId id) {
  note(now, exchange_.claims[id], TraceKind::lost);
  cleanup_.give_up(now, id);
}

void Acquisitions::win(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  exchange_.drop_ballot(claim);
  const WaiterId waiter = claim.waiter;
  Acquisition& acquisition = waiters_[waiter];
  note_win(exchange_.stats, exchange_.class_of(claim.key()), exchange_.now, claim, acquisition);
  acquisition.note(now, TraceKind::won);
  leases_.begin(id);
  exchange_.output(Acquired{acquisition.user, id, acquisition.attempts});
  if (acquisition.permit) {
    lines_.leave(now, acquisition);  // another permit may be free for the next waiter
  } else if (acquisition.place() != 0) {
    claim.entry.leaves = true;
    claim.entry.nodes = acquisition.in_line->entered;
  }
  forget(waiter);
  claim.waiter = WaiterId();
}

/// The reason, which depends on whether a quorum of nodes was reached at all, may be clear only
/// after the attempt is lost.
void Acquisitions::settle(Time now, ClaimId id) {
  Claim& claim = exchange_.claims[id];
  const WaiterId waiter = claim.waiter;
  Acquisition* const acquisition = waiters_.find(waiter);
  if (acquisition == nullptr) return;
  const Tally& tally = claim.round.tally;
  const Verdict reached = core::reached(tally);
  const bool another_slot = acquisition->permit && acquisition->place() == 0 &&
                            reached == Verdict::won && permits_.may_try_another(now, *acquisition);
  if (another_slot) {
    claim.waiter = WaiterId();
    acquisition->cause = Cause::look;
    return attempt(now, waiter);
  }
  if (acquisition->in_line) {
    // In the line it would not hear the rest, and would wait in vain.
    if (may_be_misconfigured(tally)) return;
    const bool hopeless = reached == Verdict::lost && why_unreached(tally) == Errc::misconfigured;
    if (!hopeless) return lost_in_line(now, id);
    lines_.leave(now, *acquisition);
  }
  if (reached == Verdict::pending) return;

  claim.waiter = WaiterId();
  acquisition->last_why = reached == Verdict::won ? Errc::contended : why_unreached(tally);
  acquisition->last = tally;
  if (!acquisition->waits || acquisition->last_why == Errc::misconfigured) {
    return refuse(waiter, acquisition->last_why, acquisition->last);
  }
  pause(now, waiter);
}

/// Pauses an unordered waiter until its next attempt.
void Acquisitions::pause(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  acquisition.pausing = true;
  acquisition.note(now, TraceKind::pausing);
  const Time retry_at = next_try(now, acquisition.last_why, exchange_.config, exchange_.random);
  waiters_.timers.set(id.index, std::min(retry_at, acquisition.wait_until));
}

// --- In the line ---------------------------------------------------------------------------------

/// Enters the line, or waits on in it, after a lost attempt.
void Acquisitions::lost_in_line(Time now, ClaimId claim_id) {
  Claim& claim = exchange_.claims[claim_id];
  const WaiterId id = std::exchange(claim.waiter, WaiterId());
  Acquisition& acquisition = waiters_[id];
  acquisition.last = claim.round.tally;
  acquisition.pausing = true;
  if (acquisition.place() == 0) {
    acquisition.in_line->settled = true;
    return lines_.enter(now, id);
  }
  if (lines_.lost(now, id, claim.round.tally)) try_again(now, id);
}

void Acquisitions::on_places(Time now, int node, const Tag& tag, Vote vote,
                             std::span<const Place> places) {
  const std::vector<WaiterId> waiters = lines_.on_places(now, node, tag, vote);
  // If the numbers differ, some waiters had left when the command was sent again.
  const bool told = vote == Vote::granted && places.size() == waiters.size();
  for (std::size_t i = 0, end = 0; i < waiters.size(); i = end) {
    while (end < waiters.size() && waiters[end] == waiters[i]) ++end;
    const std::span<const Place> its = told ? places.subspan(i, end - i) : places.first(0);
    if (lines_.hear(now, waiters[i], node, vote, its)) try_again(now, waiters[i]);
  }
}

void Acquisitions::on_wake(Time now, int node, std::uint64_t place, int slot) {
  if (Acquisition* const acquisition = lines_.at(place)) {
    if (acquisition->permit) acquisition->permit->seen.doubt(node);
    acquisition->in_line->holder = 0;
    acquisition->in_line->polls = false;
  }
  cause_ = Cause::message;
  const WaiterId woken = lines_.wake(now, node, place, slot);
  if (woken != WaiterId()) try_again(now, woken);
  cause_ = Cause::look;
}

ClaimEntry Acquisitions::prepare(WaiterId heir, const Claim& holder) {
  ClaimEntry entry;
  const int slot = holder.permit.slot;
  if (Acquisition* const next = waiters_.find(heir)) {
    entry.not_woken = next->place();
    entry.not_woken_reads = next->terms.reads();
    if (slot != 0) {
      for (const int node : exchange_.nodes.all()) next->permit->seen.learn_free(node, slot);
    }
  } else if (slot != 0) {
    permits_.leave(holder);
  }
  return entry;
}

// --- The end of a wait ---------------------------------------------------------------------------

void Acquisitions::forget_node(int node) {
  waiters_.all.for_each([&](WaiterId id) {
    if (auto& permit = waiters_[id].permit) permit->seen.add_node(node);
  });
  lines_.forget_node(node);
}

void Acquisitions::advance(Time now) {
  while (const std::optional<std::uint32_t> due = waiters_.timers.pop_due(now)) {
    on_due(now, waiters_.all.at(*due));
  }
  if (now >= lines_.refresh_at()) lines_.refresh(now);
}

void Acquisitions::on_due(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  const Admission& admission = exchange_.admission;
  if (admission.is_queued(id, Admission::For::first)) {
    // Its wait ended in the queue, so that no node was ever asked.
    return refuse(id, Errc::timed_out, acquisition.last,
                  Unsent{admission.before(id), now - acquisition.began, admission.renewals(),
                         admission.full()});
  }
  if (now >= acquisition.wait_until) {
    const ClaimId attempt = acquisition.pausing ? ClaimId() : acquisition.claim;
    return cancel(now, id, acquisition.why_over(exchange_.claims.find(attempt)));
  }
  if (acquisition.in_line) {
    if (lines_.on_due(now, id)) try_again(now, id);
    return;
  }
  if (acquisition.waits) waiters_.timers.set(id.index, acquisition.wait_until);
  try_again(now, id);
}

void Acquisitions::cancel(Time now, WaiterId id, Errc why) {
  Acquisition* const acquisition = waiters_.find(id);
  if (acquisition == nullptr) return;
  const ClaimId claim_id = acquisition->pausing ? ClaimId() : acquisition->claim;
  Claim* const claim = exchange_.claims.find(claim_id);
  if (acquisition->place() != 0) {
    if (claim != nullptr && claim->phase == Phase::acquiring) {
      claim->entry.leaves = true;
      claim->entry.nodes = acquisition->in_line->entered;
    } else {
      lines_.leave(now, *acquisition);
    }
  }
  const bool first = claim != nullptr && acquisition->attempts == 1;
  refuse(id, why, first ? claim->round.tally : acquisition->last);
  if (claim == nullptr) return;
  claim->waiter = WaiterId();
  if (claim->phase == Phase::acquiring) give_up(now, claim_id);
  cleanup_.forget_if_done(now, claim_id);
}

void Acquisitions::refuse(WaiterId id, Errc why, const Tally& tally,
                          const std::optional<Unsent>& unsent) {
  Acquisition& acquisition = waiters_[id];
  note_refusal(exchange_.stats, exchange_.class_of(acquisition.key), exchange_.now, acquisition,
               why);
  acquisition.note(exchange_.now, TraceKind::refused);
  exchange_.output(Refused{acquisition.user, why, acquisition.attempts, tally,
                           acquisition.permit ? acquisition.permit->other_capacity : 0,
                           acquisition.holder(tally), acquisition.rival.since(),
                           acquisition.rival.expiry(), unsent});
  forget(id);
}

void Acquisitions::forget(WaiterId id) {
  exchange_.admission.leave(id);  // also an entry that was to be refreshed during the try that won
  lines_.drop(waiters_[id]);
  waiters_.give_back(id);
}

}  // namespace quorumlock::core
