#include "lock/exchange.hpp"

#include <algorithm>

namespace quorumlock::core {

Exchange::Exchange(const Config& its_config, Random& its_random)
    : config(its_config),
      random(its_random),
      nodes(config),
      admission(config.first_window, config.window, config.send_within / 2),
      entry_life(config.entry_life),
      longest_entry_life(config.entry_life),
      tokens_(config.label, random) {
  if (config.classes.prefixes.empty()) return;
  for (const std::string& prefix : config.classes.prefixes) stats.classes.push_back({prefix});
  stats.classes.emplace_back();  // the other resources
}

ClassStats& Exchange::found_class(std::string_view key) {
  for (const std::string_view kind : config.classes.kinds) {
    if (key.starts_with(kind)) key.remove_prefix(kind.size());
  }
  key.remove_prefix(config.classes.before_name);
  return *std::ranges::find_if(stats.classes, [key](const ClassStats& one) {
    const std::string& prefix = one.prefix;
    if (prefix.size() > key.size()) return false;
    // Most names differ in the last letter, which is cheaper than a comparison of all.
    return prefix.empty() || (key[prefix.size() - 1] == prefix.back() && key.starts_with(prefix));
  });
}

void Exchange::forget_votes(int node) {
  stats.votes += std::exchange(votes[static_cast<std::size_t>(node)], {});
}

ClaimId Exchange::new_claim(std::string_view key, std::string_view token) {
  return claims.take(key, token.empty() ? tokens_.draw() : token);
}

ClaimId Exchange::claim_by_token(std::string_view key, OtherKeys others, std::string_view token,
                                 UserId user) {
  const ClaimId id = new_claim(key, token);
  Claim& claim = claims[id];
  claim.asked_for = claim.by_token = true;
  claim.others = std::move(others);
  claim.held.user = user;
  return id;
}

void Exchange::open_round(Time at, Claim& claim, Duration ttl) {
  claim.round.open(at, ttl, nodes.all(), nodes.majority());
  Footprint& footprint = claim.footprint;
  footprint.longest_ttl = std::max(footprint.longest_ttl, ttl);
  footprint.gone_at = std::max(footprint.gone_at, at + ttl);
}

void Exchange::send_round(ClaimId id, CommandKind kind, NodeSet to) {
  Claim& claim = claims[id];
  for (const int node : to) claim.round.tally.ask(node);
  for (const int node : nodes.all() - to) {
    const bool crowded = (admission.full() & nodes.take_requests()).contains(node);
    const Vote why = crowded ? Vote::stalled : nodes.why_not_asked(node);
    claim.round.tally.record(node, why);
    note_vote(node, why);
  }
  send(id, Tag{id, claim.round.number(), kind}, to);
}

void Exchange::send(ClaimId id, const Tag& tag, NodeSet to) {
  if (to.empty()) return;
  claims[id].footprint.unanswered += to.size();
  unanswered_ += to.size();
  const bool follows = tag.kind == CommandKind::release ||
                       (tag.kind == CommandKind::raise && !planted(Mutant::raises_sent_at_once));
  if (follows && (admission.has_follow_ups() || !has_room())) {
    return admission.queue_follow_up({tag, to});
  }
  put(tag, to);
}

ClaimId Exchange::send_queued_follow_up() {
  const Admission::FollowUp next = admission.take_follow_up();
  Claim& claim = claims[next.tag.claim];
  if (next.tag.kind == CommandKind::raise && claim.phase == Phase::releasing) {
    claim.footprint.unanswered -= next.to.size();
    unanswered_ -= next.to.size();
  } else {
    put(next.tag, next.to);
  }
  return next.tag.claim;
}

void Exchange::put(const Tag& tag, NodeSet to) {
  Claim& claim = claims[tag.claim];
  admission.sent(to);
  const bool replant =
      tag.kind == CommandKind::renew && claim.phase == Phase::held && !claim.held.detached;
  if (sets_key(tag.kind) || replant) claim.footprint.nodes = claim.footprint.nodes | to;
  Send sending{.to = to,
               .tag = tag,
               .lock = {.first = claim.key(),
                        .mode = claim.terms.mode,
                        .by_token = claim.by_token,
                        .permit = claim.permit},
               .token = claim.token(),
               .begun = claim.round.start(),
               .ttl = claim.round.ttl(),
               .fence = claim.fencing.number,
               .replant = replant};
  if (claim.others != nullptr) sending.lock.others = *claim.others;
  if (tag.kind == CommandKind::renew) sending.left = nodes.clocks().least(claim.deadline - now);
  const ClaimEntry& entry = claim.entry;
  if (tag.kind == CommandKind::acquire) {
    sending.ordered = entry.ordered;
    sending.fenced = config.fencing;
  }
  if (entry.place != 0 && (tag.kind == CommandKind::acquire || entry.leaves)) {
    sending.place = {process, entry.place, entry.ticket, claim.terms.reads(), config.label};
    sending.entry_life = entry_life;
  }
  if (entry.not_woken != 0) {
    sending.not_woken = {process, entry.not_woken, 0, entry.not_woken_reads, config.label};
  }
  output(std::move(sending));
}

void Exchange::send(SendEntries&& entries) {
  unanswered_ += entries.to.size();
  admission.sent(entries.to);
  output(std::move(entries));
}

void Exchange::count_fences(Claim& claim, std::uint64_t seen) {
  claim.fencing.number = seen;
  claim.fencing.ballot = ballots_.take();
  ballots_[claim.fencing.ballot].begin(seen);
}

void Exchange::drop_ballot(Claim& claim) {
  if (const Ballot* const ballot = ballot_of(claim)) {
    for (const Ballot::Said& each : ballot->doubted()) {
      if (claim.round.tally.vote(each.node) != Vote::pending) continue;
      claim.round.tally.record(each.node, Vote::bad_counter);
      note_vote(each.node, Vote::bad_counter);
    }
    ballots_.give_back(claim.fencing.ballot);
  }
  claim.fencing.ballot = SlotId();
}

}  // namespace quorumlock::core
