#include "core/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace quorumlock::core {
namespace {

/// 20 random bytes as 40 hexadecimal digits. Makes eight digits at a time, with half a byte in each
/// of the eight bytes of a word.
std::array<char, 40> draw_token(Random& random) {
  std::array<std::uint32_t, 5> words;
  random.fill(std::as_writable_bytes(std::span(words)));
  std::array<char, 40> token;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint64_t halves = words[i];
    halves = (halves | halves << 16U) & 0x0000ffff0000ffffU;
    halves = (halves | halves << 8U) & 0x00ff00ff00ff00ffU;
    halves = (halves | halves << 4U) & 0x0f0f0f0f0f0f0f0fU;
    const std::uint64_t letters = (halves + 0x0606060606060606U) >> 4U & 0x0101010101010101U;
    const std::uint64_t digits = halves + 0x3030303030303030U + letters * ('a' - '0' - 10);
    std::memcpy(token.data() + 8 * i, &digits, sizeof digits);
  }
  return token;
}

/// Whether this command creates the key.
bool sets_key(CommandKind kind) {
  return kind == CommandKind::set || kind == CommandKind::acquire;
}

}  // namespace

Engine::Engine(const Config& config, Random& random)
    : config_(config),
      random_(random),
      takes_requests_(NodeSet::first(config.nodes)),
      takes_releases_(takes_requests_),
      unavailable_because_(static_cast<std::size_t>(config.nodes), Vote::unreachable),
      clocks_(config.drift_factor, config.max_ttl),
      claims_(config.nodes),
      admission_(config.acquisitions_out) {}

ClaimId Engine::new_claim(std::string_view key, std::string_view token) {
  if (!token.empty()) return claims_.take(key, token);
  const std::array<char, 40> drawn = draw_token(random_);
  return claims_.take(key, {drawn.data(), drawn.size()});
}

/// Begins a round: from now on only answers to its own commands count.
void Engine::open_round(Time now, Claim& claim, Duration ttl) {
  if (++claim.round == uncounted) ++claim.round;
  claim.round_open = true;
  claim.round_start = now;
  claim.round_ttl = ttl;
  claim.longest_ttl = std::max(claim.longest_ttl, ttl);
  claim.keys_die = std::max(claim.keys_die, now + ttl);
  claim.tally.begin(config_.nodes);
}

/// Asks all these nodes at once, and records for each other node why it was not asked.
void Engine::send_round(ClaimId id, CommandKind kind, NodeSet to) {
  Claim& claim = claims_[id];
  for (int node = 0; node < config_.nodes; ++node) {
    if (to.contains(node)) {
      claim.tally.ask(node);
    } else {
      const bool mistrusted = takes_requests_.contains(node);
      const Vote why =
          mistrusted ? Vote::clock_jumped : unavailable_because_[static_cast<std::size_t>(node)];
      claim.tally.record(node, why);
      note_vote(why);
    }
  }
  if (planted(Mutant::quorum_over_connected) && !to.empty()) claim.tally.count_over(to.size());
  send(id, Tag{id, claim.round, kind}, to);
}

void Engine::send(ClaimId id, const Tag& tag, NodeSet to) {
  if (to.empty()) return;
  Claim& claim = claims_[id];
  claim.unanswered += to.size();
  unanswered_ += to.size();
  const bool replant =
      tag.kind == CommandKind::renew && claim.phase == Phase::held && !claim.detached;
  if (sets_key(tag.kind) || replant) claim.may_hold = claim.may_hold | to;
  Send sending{.to = to,
               .tag = tag,
               .lock = {.first = claim.key(),
                        .shared = claim.terms.shared,
                        .by_token = claim.by_token,
                        .permit = {claim.capacity, claim.slot}},
               .token = claim.token(),
               .ttl = claim.round_ttl,
               .fence = claim.fence,
               .replant = replant};
  if (claim.others != nullptr) sending.lock.others = *claim.others;
  if (tag.kind == CommandKind::renew) sending.left = clocks_.least(claim.deadline - now_);
  if (tag.kind == CommandKind::acquire) {
    sending.ordered = claim.ordered;
    sending.fenced = config_.fencing;
  }
  if (claim.place != 0 && (tag.kind == CommandKind::acquire || claim.leaves)) {
    sending.place = {process_, claim.place, claim.ticket, claim.terms.shared};
    sending.entry_life = config_.entry_life;
  }
  if (claim.not_woken != 0) {
    sending.not_woken = {process_, claim.not_woken, 0, claim.not_woken_reads};
  }
  output(std::move(sending));
}

void Engine::judge(Time now, ClaimId id, Claim& claim) {
  switch (claim.phase) {
    case Phase::acquiring: return judge_acquire(now, id, claim);
    case Phase::held: return judge_renew(now, id, claim);
    case Phase::extending: return judge_token_extend(now, claim);
    case Phase::releasing:
      if (claim.waiter != WaiterId()) settle(now, id);
      return judge_release(now, id);
  }
}

void Engine::on_answer(Time now, int node, Tag tag, const Answer& answer) {
  advance(now);
  --unanswered_;
  if (answer.node_time > 0 && answer.node_time < (std::int64_t{1} << 52U)) {
    const std::int64_t ahead = answer.node_time - microseconds_of(now);
    clock_ahead_ = std::max(clock_ahead_.value_or(ahead), ahead);
  }
  // A plain lock's answer brings no time, so it skips this unless a clock was found wrong.
  const bool watched = answer.node_time != 0 || mistrusted_.contains(node);
  const Vote counts = watched ? watch_clock(now, node, answer) : answer.vote;
  Claim* claim = claims_.find(tag.claim);
  if (claim == nullptr) return;
  --claim->unanswered;

  const bool still_wanted = tag.kind == CommandKind::release ||
                            (tag.round == claim->round && claim->phase != Phase::releasing);
  if (answer.vote == Vote::no_script && !tag.with_source && still_wanted &&
      takes_releases_.contains(node)) {
    tag.with_source = true;  // the command did not run: repeat it in the same round
    return send(tag.claim, tag, NodeSet::only(node));
  }
  if (!tag.again && wants_again(now, node, *claim, tag, answer)) {
    tag.again = true;  // the renewal did nothing: repeat it by the node's time just reported
    return send(tag.claim, tag, NodeSet::only(node));
  }

  note_answer(now, *claim, node, tag, answer);
  if (answer.fence > claim->fence_noted) {  // most nodes say the same
    each_key(claim->key(), claim->others,
             [&](std::string_view key) { fences_seen_.note(key, answer.fence); });
    claim->fence_noted = answer.fence;
  }
  if (answer.due > Duration::zero()) {
    claim->frees_at = std::min(claim->frees_at, later(now, answer.due));
  }
  if (claim->ordered || claim->not_woken != 0) heard_in_line(now, node, *claim, answer);
  if (claim->capacity != 0) hear_slot(now, node, *claim, answer);
  if (answer.waited_for) waited_for_.note(now, claim->key(), answer.greatest_ticket);
  if (tag.round == claim->round || planted(Mutant::answers_of_an_older_round)) {
    count(*claim, node, tag.kind, counts, answer.fence);
  }
  // After a win, a late grant belonged to the lease, whose own release has gone out after it.
  const bool forgotten = planted(Mutant::clean_up_skipped_on_cancel) && claim->detached;
  if (sets_key(tag.kind) && answer.vote == Vote::granted && !claim->won && !forgotten &&
      claim->phase == Phase::releasing && takes_releases_.contains(node)) {
    clean_up(tag.claim, NodeSet::only(node));
  }
  judge(now, tag.claim, *claim);
  if (claim->unanswered != 0) return;  // forgetting and folding wait for the last answer
  forget_if_done(now, tag.claim);
  rest(tag.claim);
}

/// Folds a lease with nothing under way, to save memory, if many claims are open.
void Engine::rest(ClaimId id) {
  if (claims_.open() > static_cast<std::size_t>(config_.unfolded)) claims_.fold(id);
}

/// A random distance from the number that others may ask for. Readers that come together would keep
/// choosing the same numbers, so the range doubles each time they collide.
std::uint64_t Engine::apart(Ballot& ballot) {
  const int most = 8 << std::min(ballot.met(), 12);
  return static_cast<std::uint64_t>(random_.below(Duration(most)).count());
}

/// Counts an answer to the current round.
void Engine::count(Claim& claim, int node, CommandKind kind, Vote vote, std::uint64_t fence) {
  Ballot* ballot = ballots_.find(claim.ballot);
  const bool granted = vote == Vote::granted;
  note_vote(vote);
  if (ballot != nullptr) {
    ballot->saw(fence);
    if (granted) ballot->vote(node, fence);
    if (kind == CommandKind::raise) ballot->answered(node);
    if (planted(Mutant::older_acknowledgements_counted) && granted && kind == CommandKind::raise) {
      ballot->acknowledged(node);
    }
  }
  if (kind == CommandKind::raise) {
    // A counter that is as high already is no vote for this number, but none against the lock
    // either: a greater number will do.
    if (vote != Vote::held) {
      claim.tally.record(node, vote);
    } else if (ballot != nullptr) {
      ballot->refused(node, fence);
      ballot->saw(fence + 1 + (claim.terms.shared ? apart(*ballot) : 0));
    }
  } else if (claim.tally.vote(node) != Vote::granted) {
    claim.tally.record(node, vote);
    if (granted && claim.phase == Phase::held) claim.standing.add(node);
  }
}

std::uint64_t Engine::fence_seen(const Waiter& waiter) const {
  std::uint64_t greatest = 0;
  each_key(waiter.key, waiter.others,
           [&](std::string_view key) { greatest = std::max(greatest, fences_seen_.of(key)); });
  return greatest;
}

void Engine::drop_ballot(Claim& claim) {
  if (ballots_.find(claim.ballot) != nullptr) ballots_.give_back(claim.ballot);
  claim.ballot = SlotId();
}

void Engine::on_timeout(Time now, int node, Tag tag) {
  advance(now);
  if (tag.kind == CommandKind::queue) return;  // the next refresh repeats it
  Claim* claim = claims_.find(tag.claim);
  if (claim == nullptr || tag.round != claim->round) return;
  Ballot* ballot = tag.kind == CommandKind::raise ? ballots_.find(claim->ballot) : nullptr;
  if (ballot != nullptr && ballot->raising().contains(node)) {
    ballot->answered(node);
  } else if (claim->tally.vote(node) != Vote::pending) {
    return;
  }
  claim->tally.record(node, Vote::timed_out);
  note_vote(Vote::timed_out);
  judge(now, tag.claim, *claim);
}

void Engine::on_link(Time now, int node, LinkState state, Vote reason) {
  advance(now);
  unavailable_because_[static_cast<std::size_t>(node)] = reason;
  const bool was_away = !takes_releases_.contains(node);
  const bool could_decide = voters(now).size() >= quorum_of(config_.nodes);
  const bool takes_requests = state == LinkState::connecting || state == LinkState::up;
  takes_requests_.remove(node);
  takes_releases_.remove(node);
  if (takes_requests) takes_requests_.add(node);
  if (state != LinkState::down) takes_releases_.add(node);
  if (takes_requests && !lines_.empty()) refresh_at_ = now;
  if (!could_decide && voters(now).size() >= quorum_of(config_.nodes)) {
    // An unordered waiter that found no quorum need not pause any longer. As there may be many,
    // they are spread at 50,000 a second.
    Time turn = now;
    waiters_.for_each([&](WaiterId id) {
      Waiter& waiter = waiters_[id];
      if (!waiter.pausing || waiter.ordered || waiter.last_why != Errc::no_quorum) return;
      waiter.retry_at = std::min(waiter.retry_at, turn);
      waiter_timers_.set(id.index, std::min(waiter.retry_at, waiter.wait_until));
      turn += std::chrono::microseconds(20);
    });
  }
  if (!was_away || state == LinkState::connecting || state == LinkState::down) return;

  // The node still has to get the releases of claims that were given up while it was away.
  claims_.for_each_open([&](ClaimId id) {
    const Claim& claim = claims_[id];
    if (claim.phase == Phase::releasing && claim.may_hold.contains(node)) {
      clean_up(id, NodeSet::only(node));
    }
  });
}

void Engine::on_claim_due(Time now, ClaimId id) {
  switch (claims_[id].phase) {
    case Phase::acquiring:
      if (planted(Mutant::deadline_not_checked)) return;
      give_up(now, id);
      settle(now, id);
      return forget_if_done(now, id);
    case Phase::held: return on_held_due(now, id);
    case Phase::extending: return;
    case Phase::releasing: return on_releasing_due(now, id);
  }
}

void Engine::do_due(Time now) {
  while (const std::optional<std::uint32_t> due = claim_timers_.pop_due(now)) {
    on_claim_due(now, claims_.at(*due));
  }
  while (const std::optional<std::uint32_t> due = waiter_timers_.pop_due(now)) {
    on_waiter_due(now, waiters_.at(*due));
  }
  if (now >= refresh_at_) refresh(now);
}

void Engine::close(Time now) {
  advance(now);
  waiters_.for_each([&](WaiterId id) { cancel(now, id, Errc::closed); });
  claims_.for_each([&](ClaimId id) {
    if (claims_[id].phase == Phase::held) end(now, id, Errc::closed);
  });
}

Time Engine::deadline() const {
  return std::min({claim_timers_.next(), waiter_timers_.next(), refresh_at_});
}

}  // namespace quorumlock::core
