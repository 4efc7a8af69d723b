#include "lock/engine.hpp"

#include <algorithm>
#include <vector>

#include "lock/quorum.hpp"

namespace quorumlock::core {

Engine::Engine(const Config& config, Random& random)
    : exchange_(config, random),
      permits_(exchange_),
      cleanup_(exchange_, permits_),
      leases_(exchange_, cleanup_),
      acquisitions_(exchange_, permits_, cleanup_, leases_) {}

// --- The user's calls ----------------------------------------------------------------------------

void Engine::acquire(Time now, const AcquireRequest& request, WaiterId* id) {
  advance(now);
  acquisitions_.acquire(now, request, id);
}

void Engine::cancel(Time now, WaiterId waiter, Errc why) {
  acquisitions_.cancel(now, waiter, why);
}

void Engine::adopt(ClaimId id, UserId user) {
  if (Claim* claim = exchange_.claims.find(id)) claim->held.user = user;
}

bool Engine::extend(Time now, ClaimId id, Duration ttl) {
  advance(now);
  if (!leases_.may_extend(id)) return false;
  leases_.extend(now, id, ttl);
  return true;
}

bool Engine::downgrade(Time now, ClaimId id) {
  advance(now);
  if (!leases_.may_extend(id) || exchange_.claims[id].held.detached) return false;
  leases_.downgrade(now, id);
  return true;
}

bool Engine::release(Time now, ClaimId id, bool report) {
  advance(now);
  const Claim* const claim = exchange_.claims.find(id);
  if (claim == nullptr || claim->phase != Phase::held) return false;
  // Hand-over within this process: the release and the next waiter's attempt go out together, and
  // each node runs them in this order. A node grants only if no other waiter is before that one.
  const WaiterId heir = acquisitions_.heir_of(now, *claim);
  leases_.release(now, id, report, acquisitions_.prepare(heir, *claim));
  acquisitions_.hand_over(now, heir);
  return true;
}

void Engine::detach(Time now, ClaimId id) {
  advance(now);
  const Claim* const claim = exchange_.claims.find(id);
  if (claim != nullptr && claim->phase == Phase::held) leases_.detach(now, id);
}

void Engine::forget(Time now, ClaimId id) {
  advance(now);
  const Claim* const claim = exchange_.claims.find(id);
  if (claim != nullptr && claim->phase == Phase::held) leases_.forget(now, id);
}

void Engine::abandon(Time now, ClaimId id) {
  advance(now);
  const Claim* const claim = exchange_.claims.find(id);
  if (claim != nullptr && claim->phase == Phase::held) leases_.end(now, id, Errc::expired);
}

void Engine::extend_token(Time now, std::string_view key, OtherKeys others, std::string_view token,
                          Duration ttl, UserId user) {
  advance(now);
  leases_.extend_token(now, exchange_.claim_by_token(key, std::move(others), token, user), ttl);
}

void Engine::release_token(Time now, std::string_view key, OtherKeys others, std::string_view token,
                           UserId user) {
  advance(now);
  cleanup_.release_token(now, exchange_.claim_by_token(key, std::move(others), token, user));
}

void Engine::close(Time now) {
  advance(now);
  acquisitions_.close(now);
  exchange_.claims.for_each([&](ClaimId id) {
    if (exchange_.claims[id].phase == Phase::held) leases_.end(now, id, Errc::closed);
  });
}

Stats Engine::stats(Time now) {
  Stats all = exchange_.stats;
  Nodes& nodes = exchange_.nodes;
  const NodeSet voters = nodes.voters(now) - nodes.connecting();
  for (const int node : nodes.all()) {
    const auto at = static_cast<std::size_t>(node);
    if (all.nodes.size() <= at) all.nodes.resize(at + 1);
    all.nodes[at].counts = voters.contains(node);
    all.nodes[at].votes = exchange_.votes[at];
    all.votes += exchange_.votes[at];
  }
  all.held = static_cast<std::uint64_t>(leases_.held());
  all.waiting = acquisitions_.waiters().all.used();
  return all;
}

std::pair<std::uint64_t, std::uint64_t> Engine::place_of(WaiterId id) {
  const Acquisition* const acquisition = acquisitions_.waiters().find(id);
  if (acquisition == nullptr || !acquisition->in_line) return {};
  const InLine& in_line = *acquisition->in_line;
  return {in_line.place, in_line.settled ? in_line.ticket : 0};
}

// --- What comes from the nodes -------------------------------------------------------------------

void Engine::on_answer(Time now, int node, Tag tag, const Answer& answer) {
  advance(now);
  exchange_.answered(node, answer.asked);
  Nodes& nodes = exchange_.nodes;
  nodes.saw_time(now, answer.node_time);
  // A plain lock's answer brings no time, so it skips this unless a clock was found wrong.
  Vote counts = answer.vote;
  if (answer.node_time != 0) read_clock(now, node, answer.asked, answer.node_time);
  if (nodes.mistrusts(node)) counts = nodes.counted(now, node, counts);
  Claim* const claim = exchange_.claims.find(tag.claim);
  if (claim == nullptr) return;
  --claim->footprint.unanswered;
  const bool did_nothing = answer.vote == Vote::no_script || answer.vote == Vote::timed_out ||
                           answer.vote == Vote::not_enrolled;
  if (did_nothing && repeats(now, node, tag, answer)) return;

  Cleanup::note_answer(now, *claim, node, tag, answer);
  acquisitions_.hear(now, node, *claim, answer);
  if (tag.round == claim->round.number() || planted(Mutant::answers_of_an_older_round)) {
    const Ballot::Said said{node,         tag.kind,         counts,
                            answer.fence, nodes.asks(node), nodes.longest_ttl(node)};
    Ballot* const ballot = exchange_.ballot_of(*claim);
    if (ballot == nullptr || ballot->believes(said.fence, nodes.counts_up_to(now, said.fence)))
        [[likely]] {
      count(now, *claim, said);
    } else {
      ballot->doubt(said);
    }
    if (ballot != nullptr && !ballot->doubted().empty()) [[unlikely]]
      settle_doubts(now, *claim);
  } else {
    Leases::hear_late(*claim, node, tag, counts);
  }
  // After a win, a late grant belonged to the lease, whose own release has gone out after it.
  if (sets_key(tag.kind) && answer.vote == Vote::granted && !claim->held.won &&
      claim->phase == Phase::releasing && nodes.take_releases().contains(node)) {
    exchange_.clean_up(tag.claim, NodeSet::only(node));
  }
  judge(now, tag.claim, *claim);
  if (claim->footprint.unanswered == 0) cleanup_.forget_if_done(now, tag.claim);
}

void Engine::count(Time now, Claim& claim, Ballot::Said answer) {
  const int node = answer.node;
  const Nodes& nodes = exchange_.nodes;
  const bool too_long = claim.round.ttl() > std::min(answer.longest_ttl, nodes.longest_ttl(node));
  if (answer.vote == Vote::granted && too_long) answer.vote = Vote::max_ttl_differs;
  if (planted(Mutant::asks_by_a_later_record)) answer.asks = nodes.asks(node);
  exchange_.note_vote(node, answer.vote);
  acquisitions_.note_vote(now, claim, node, answer.kind, answer.vote);
  const bool granted =
      claim.round.count(answer, claim.terms.reads(), exchange_.ballot_of(claim), exchange_.random);
  if (granted && claim.phase == Phase::held) claim.held.standing.add(node);
}

/// Counts answers with numbers that were too great to count without the other nodes' answers.
void Engine::settle_doubts(Time now, Claim& claim) {
  Ballot* const ballot = exchange_.ballot_of(claim);
  if (ballot == nullptr || ballot->doubted().empty()) [[likely]]
    return;
  const Tally& tally = claim.round.tally;
  const int least = tally.nodes().size() - tally.needed() + 1;
  const std::uint64_t limit = exchange_.nodes.counts_up_to(now, ~std::uint64_t{0});
  while (std::optional<Ballot::Said> one = ballot->take_settled(limit, tally.pending(), least)) {
    one->vote = exchange_.nodes.counted(now, one->node, one->vote);
    count(now, claim, *one);
  }
}

/// Sends a command that did nothing again, in the same round: once with its script, if the node did
/// not have it; with the node's new record, if that has changed; or once more a renewal that the
/// node found too late. That can be our mistake: we judged its clock by a slow answer, or did not
/// know it; this answer has brought the node's time.
bool Engine::repeats(Time now, int node, Tag tag, const Answer& answer) {
  const Claim& claim = exchange_.claims[tag.claim];
  const bool in_round = tag.round == claim.round.number();
  const bool wanted =
      tag.kind == CommandKind::release || (in_round && claim.phase != Phase::releasing);
  const bool too_late = tag.kind == CommandKind::renew && answer.vote == Vote::timed_out &&
                        tag.again == 0 && !planted(Mutant::too_late_believed);
  // A change of the nodes makes three changes of a record, and one change may follow another.
  constexpr int most_changes = 3;
  const bool record_changed = answer.vote == Vote::not_enrolled && tag.again < most_changes;
  if (answer.vote == Vote::no_script && !tag.with_source && wanted &&
      exchange_.nodes.take_releases().contains(node)) {
    tag.with_source = true;
  } else if ((too_late || record_changed) && in_round &&
             (claim.phase == Phase::held || claim.round.is_open()) &&
             exchange_.nodes.voters(now).contains(node)) {
    ++tag.again;
  } else {
    return false;
  }
  exchange_.send(tag.claim, tag, NodeSet::only(node));
  return true;
}

void Engine::judge(Time now, ClaimId id, Claim& claim) {
  switch (claim.phase) {
    case Phase::acquiring: return acquisitions_.judge(now, id, claim);
    case Phase::held: return leases_.judge(now, id, claim);
    case Phase::extending: return leases_.judge_token_extend(now, id);
    case Phase::releasing:
      if (claim.waiter != WaiterId()) acquisitions_.settle(now, id);
      return cleanup_.judge(now, id, claim);
  }
}

void Engine::on_timeout(Time now, int node, Tag tag) {
  advance(now);
  if (tag.kind == CommandKind::queue) return;  // the next refresh repeats it
  Claim* const claim = exchange_.claims.find(tag.claim);
  if (claim == nullptr || tag.round != claim->round.number()) return;
  if (!claim->round.late(node, tag.kind, exchange_.ballot_of(*claim))) return;
  exchange_.note_vote(node, Vote::timed_out);
  acquisitions_.note_vote(now, *claim, node, tag.kind, Vote::timed_out);
  settle_doubts(now, *claim);
  judge(now, tag.claim, *claim);
}

void Engine::on_link(Time now, int node, LinkState state, Vote reason) {
  advance(now);
  Nodes& nodes = exchange_.nodes;
  const bool was_away = !nodes.take_releases().contains(node);
  nodes.on_link(node, state, reason);
  if (state == LinkState::up) acquisitions_.on_connected(now, node);
  if (nodes.take_requests().contains(node)) acquisitions_.refresh_soon(now);
  const bool back = was_away && nodes.take_releases().contains(node);
  if (back && state != LinkState::connecting) cleanup_.on_back(node);
}

void Engine::add_node(Time now, int node) {
  advance(now);
  exchange_.nodes.add(node);
  exchange_.forget_votes(node);  // an answer of a node that had this number may have come late
  acquisitions_.forget_node(node);
  exchange_.claims.for_each([&](ClaimId id) { exchange_.claims[id].held.standing.remove(node); });
}

/// Leases go on to rely on votes of the removed node, which keeps their keys, until the next
/// renewal.
void Engine::remove_node(Time now, int node) {
  advance(now);
  exchange_.nodes.remove(node);
  exchange_.forget_votes(node);
  acquisitions_.forget_node(node);
  Claims& claims = exchange_.claims;
  claims.for_each([&](ClaimId id) {
    Claim& claim = claims[id];
    claim.round.tally.leave(node);
    if (Ballot* const ballot = exchange_.ballot_of(claim)) ballot->leave(node);
    claim.footprint.nodes.remove(node);
    claim.entry.nodes.remove(node);
    cleanup_.forget_if_done(now, id);
  });
}

void Engine::on_new_list() {
  exchange_.claims.for_each([&](ClaimId id) {
    Round& round = exchange_.claims[id].round;
    if (round.is_open()) round.tally.move_to(exchange_.nodes.majority());
  });
}

void Engine::on_new_founding() {
  exchange_.claims.for_each([&](ClaimId id) {
    Round& round = exchange_.claims[id].round;
    if (round.is_open()) round.tally.spoil();
  });
}

void Engine::on_terms(Time now, Duration max_ttl, Duration fencing_memory) {
  advance(now);
  exchange_.config.max_ttl = max_ttl;
  exchange_.config.fencing_memory = fencing_memory;
  exchange_.nodes.on_terms(max_ttl, fencing_memory);
  exchange_.claims.for_each([&](ClaimId id) {
    Round& round = exchange_.claims[id].round;
    if (!round.is_open()) return;
    for (const int node : round.tally.granted_by()) {
      if (round.ttl() <= exchange_.nodes.longest_ttl(node)) continue;
      round.tally.record(node, Vote::max_ttl_differs);
    }
  });
}

void Engine::on_places(Time now, int node, Tag tag, Vote vote, std::span<const Place> places,
                       Time asked) {
  advance(now);
  exchange_.answered(node, asked);
  acquisitions_.on_places(now, node, tag, vote, places);
}

void Engine::on_wake(Time now, int node, std::uint64_t waiter, int slot) {
  advance(now);
  acquisitions_.on_wake(now, node, waiter, slot);
}

void Engine::on_listening(Time now) {
  acquisitions_.refresh_soon(now);
}

// --- Clocks --------------------------------------------------------------------------------------

void Engine::on_clock(Time now, int node, Time asked, std::int64_t node_time) {
  advance(now);
  if (node_time != 0) read_clock(now, node, asked, node_time);
}

void Engine::read_clock(Time now, int node, Time asked, std::int64_t node_time) {
  const std::optional<Nodes::Finding> found =
      exchange_.nodes.judge_clock(now, node, asked, node_time);
  if (!found) return;
  if (const auto* const jumped = std::get_if<ClockJumped>(&*found)) {
    exchange_.output(*jumped);
    return void_votes(now, node);
  }
  exchange_.output(std::get<ClockStood>(*found));
  if (!planted(Mutant::leases_kept)) void_all_votes(now);
}

/// A node's clock was found wrong. Its keys may have run out early: its earlier votes are void, and
/// a lease without a quorum of votes from other nodes is lost.
void Engine::void_votes(Time now, int node) {
  Claims& claims = exchange_.claims;
  claims.for_each([&](ClaimId id) {
    Claim& claim = claims[id];
    if (claim.phase == Phase::releasing) return;
    claim.held.standing.remove(node);
    if (claim.phase == Phase::held && !exchange_.nodes.wins(claim.held.standing)) {
      return leases_.end(now, id, Errc::lost);
    }
    if (!claim.round.is_open() || claim.round.tally.vote(node) != Vote::granted) return;
    claim.round.tally.record(node, Vote::clock_jumped);
    judge(now, id, claim);
    cleanup_.forget_if_done(now, id);
  });
}

/// Our own clock has stood still: our leases have run out earlier than we thought, and the rounds
/// under way began earlier.
void Engine::void_all_votes(Time now) {
  // Only the present claims: new ones that this loop brings about began after the stand-still.
  std::vector<ClaimId> all;
  exchange_.claims.for_each([&all](ClaimId id) { all.push_back(id); });
  for (const ClaimId id : all) {
    Claim* const claim = exchange_.claims.find(id);
    if (claim == nullptr || claim->phase == Phase::releasing) continue;
    if (claim->phase == Phase::held) {
      leases_.end(now, id, Errc::lost);
      continue;
    }
    Tally& tally = claim->round.tally;
    for (const int node : tally.pending() | tally.granted_by()) {
      tally.record(node, Vote::clock_jumped);
    }
    judge(now, id, *claim);
    cleanup_.forget_if_done(now, id);
  }
}

// --- Time ----------------------------------------------------------------------------------------

void Engine::on_claim_due(Time now, ClaimId id) {
  switch (exchange_.claims[id].phase) {
    case Phase::acquiring: return acquisitions_.on_deadline(now, id);
    case Phase::held: return leases_.on_due(now, id);
    case Phase::extending: return;
    case Phase::releasing: return cleanup_.on_due(now, id);
  }
}

/// Sends what is queued until there is an output, or no more room.
void Engine::send_what_has_room() {
  const Admission& admission = exchange_.admission;
  while (!exchange_.has_outputs()) {
    const bool room = exchange_.has_room();
    if (room && admission.has_renewals()) {
      leases_.renew_queued(exchange_.now);
    } else if (room && admission.has_follow_ups()) {
      cleanup_.forget_if_done(exchange_.now, exchange_.send_queued_follow_up());
    } else if (!acquisitions_.send_queued(exchange_.now)) {
      return;
    }
  }
}

void Engine::do_due(Time now) {
  while (const std::optional<std::uint32_t> due = exchange_.timers.pop_due(now)) {
    on_claim_due(now, exchange_.claims.at(*due));
  }
  acquisitions_.advance(now);
}

}  // namespace quorumlock::core
