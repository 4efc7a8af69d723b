#include <algorithm>
#include <array>
#include <limits>

#include "core/engine.hpp"

// Waiting in the line: each waiter has an entry on each node; the queue head may try
// (docs/waiting.md).
namespace quorumlock::core {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_entries = 64;  ///< in one command, which keeps a node busy for 0.2 ms
constexpr int tries_at_once =
    4;  ///< the protocol needs no more; if they all fail, the cause may take time
/// Tickets must be numbers that Lua represents exactly; a node's clock that is beyond is ignored.
constexpr std::uint64_t last_ticket = (std::uint64_t{1} << 53U) - (std::uint64_t{1} << 40U);

std::string draw_process(Random& random) {
  constexpr char digits[] = "0123456789abcdef";
  std::array<std::byte, 8> bytes;
  random.fill(bytes);
  std::string name;
  for (const std::byte byte : bytes) {
    name += digits[std::to_integer<unsigned>(byte) >> 4U];
    name += digits[std::to_integer<unsigned>(byte) & 15U];
  }
  return name;
}

/// The place of a waiter for all of these locks: it is first only if it is first in each line.
Place worst_of(std::span<const Place> places) {
  Place worst{.before = 0, .free = true};
  for (const Place& place : places) {
    worst.before = std::max(worst.before, place.before);
    worst.free = worst.free && place.free;
    worst.slot = place.slot;  // a semaphore is never one of several locks
    worst.greatest_ticket = std::max(worst.greatest_ticket, place.greatest_ticket);
    if (worst.holder != 1) {
      worst.holder = place.holder == 1 ? 1 : std::max(worst.holder, place.holder);
    }
    if (place.before != 0 || !place.free) worst.due = std::max(worst.due, place.due);
  }
  return worst;
}

}  // namespace

/// A ticket for now: the nodes' time as far as it was seen, which all clients share.
std::uint64_t Engine::ticket_clock(Time now) const {
  if (!clock_ahead_) return 1;
  const std::int64_t us = microseconds_of(now) + *clock_ahead_;
  return us < 1 ? 1 : std::min(static_cast<std::uint64_t>(us), last_ticket);
}

/// Enters the line at once if others wait for the lock, since a probe would be refused. Returns
/// false if the lock is to be tried first.
bool Engine::wait_in_line(Time now, WaiterId id) {
  const Waiter& waiter = waiters_[id];
  bool others_wait = false;
  each_key(waiter.key, waiter.others,
           [&](std::string_view key) { others_wait = others_wait || waited_for(now, key); });
  if (!others_wait) return false;
  ++waiters_[id].attempts;
  enter(now, id);
  return true;
}

/// Gets a ticket and an entry on every node. After a probe the ticket exceeds all tickets on the
/// nodes; otherwise their answers may show that it is too small: it grows once, before the first
/// try.
void Engine::enter(Time now, WaiterId id) {
  if (process_.empty()) {
    process_ = draw_process(random_);
    output(Listen{process_});
  }
  Waiter& waiter = waiters_[id];
  waiter.pausing = true;
  waiter.place = ++last_place_;
  places_.emplace(waiter.place, id);
  std::uint64_t seen = waiter.greatest;
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    seen = std::max({seen, line_of(key).greatest, waited_for_.number_of(key)});
  });
  waiter.ticket = std::max(ticket_clock(now), std::min(seen, last_ticket) + 1);
  if (planted(Mutant::re_entry_with_a_smaller_ticket)) waiter.ticket = waiter.place;
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    Line& line = line_of(key);
    line.greatest = std::max(line.greatest, waiter.ticket);
    line.waiters.emplace(std::pair(waiter.ticket, waiter.place), id);
  });
  if (refresh_at_ == never) refresh_at_ = now + config_.entry_life / 3;
  send_entries({id}, voters(now));
  schedule_in_line(id);
}

Engine::Line& Engine::line_of(std::string_view key) {
  const auto found = lines_.find(key);
  return found != lines_.end() ? found->second : lines_[std::string(key)];
}

/// Puts these entries on the nodes, or keeps them there.
void Engine::send_entries(const std::vector<WaiterId>& waiters, NodeSet to) {
  if (to.empty()) return;
  for (std::size_t i = 0; i < waiters.size();) {
    const SlotId id = batches_.take();
    Batch& batch = batches_[id];
    batch.waiters.clear();
    batch.unanswered = 0;
    // One command takes all entries of a waiter, which then has a place in all its lines or none.
    for (; i < waiters.size(); ++i) {
      const std::size_t keys = waiters_[waiters[i]].keys();
      if (!batch.waiters.empty() && batch.waiters.size() + keys > most_entries) break;
      batch.waiters.insert(batch.waiters.end(), keys, waiters[i]);
    }
    send_batch(id, to, false);
  }
}

void Engine::send_batch(SlotId id, NodeSet to, bool with_source) {
  Batch& batch = batches_[id];
  SendEntries sending{
      to, Tag{id, uncounted, CommandKind::queue, with_source}, process_, {}, config_.entry_life};
  // Waiters that have left or won must not enter again.
  std::erase_if(batch.waiters, [&](WaiterId waiter) { return waiters_.find(waiter) == nullptr; });
  for (std::size_t i = 0; i < batch.waiters.size(); i += waiters_[batch.waiters[i]].keys()) {
    Waiter& waiter = waiters_[batch.waiters[i]];
    waiter.entered = waiter.entered | to;
    each_key(waiter.key, waiter.others, [&](std::string_view key) {
      const bool other = planted(Mutant::ticket_for_each_line) && key.data() != waiter.key.data();
      sending.entries.push_back({key, waiter.place,
                                 other ? last_ticket - waiter.ticket : waiter.ticket,
                                 waiter.terms.shared});
    });
  }
  if (sending.entries.empty()) {
    if (batch.unanswered == 0) batches_.give_back(id);
    return;
  }
  batch.unanswered += to.size();
  unanswered_ += to.size();
  output(std::move(sending));
}

void Engine::on_places(Time now, int node, Tag tag, Vote vote, std::span<const Place> places) {
  advance(now);
  --unanswered_;
  Batch* batch = batches_.find(tag.claim);
  if (batch == nullptr) return;
  --batch->unanswered;
  if (vote == Vote::no_script && !tag.with_source && takes_releases_.contains(node)) {
    return send_batch(tag.claim, NodeSet::only(node), true);
  }
  const std::vector<WaiterId> waiters = batch->waiters;
  if (batch->unanswered == 0) batches_.give_back(tag.claim);
  // If the numbers differ, some waiters had left when the command was sent again.
  const bool told = vote == Vote::granted && places.size() == waiters.size();
  for (std::size_t i = 0, end = 0; i < waiters.size(); i = end) {
    while (end < waiters.size() && waiters[end] == waiters[i]) ++end;
    Waiter* waiter = waiters_.find(waiters[i]);
    if (waiter == nullptr || waiter->place == 0) continue;
    const Place place = told ? worst_of(places.subspan(i, end - i)) : Place();
    if (waiter->pausing) {
      const Vote seen = place.free && place.before == 0 ? Vote::absent : Vote::held;
      waiter->last.record(node, vote == Vote::granted ? seen : vote);
    }
    if (told) hear(now, waiters[i], node, place);
  }
}

void Engine::hear(Time now, WaiterId id, int node, const Place& place) {
  Waiter& waiter = waiters_[id];
  // Only a node's first answer counts here: later ones, to a refresh, include newcomers.
  if (!waiter.heard.contains(node)) {
    waiter.greatest = std::max(waiter.greatest, place.greatest_ticket);
  }
  waiter.heard.add(node);
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    Line& line = line_of(key);
    line.greatest = std::max(line.greatest, place.greatest_ticket);
  });
  if (place.before <= 1) waiter.next.add(node);
  if (waiter.capacity != 0) waiter.seen.learn(node, 1, place.before == 0 ? place.slot : 0);
  if (place.before == 0 && place.free) {
    waiter.ready.add(node);
  } else if (place.before <= 2 && place.due > Duration::zero()) {
    // The holder or the waiter before may have died: look again when the node will know.
    waiter.look_at = std::min(waiter.look_at, later(now, place.due + milliseconds(1)));
  }
  if (place.before == 0) look_sooner(now, waiter, place);
  if (!waiter.settled && waiter.heard.size() >= quorum_of(config_.nodes)) {
    waiter.settled = true;
    // Earlier waiters of this process may have got greater tickets in the meantime.
    std::uint64_t others = waiter.greatest;
    each_key(waiter.key, waiter.others,
             [&](std::string_view key) { others = std::max(others, line_of(key).grown); });
    const bool too_small = others >= waiter.ticket && others < last_ticket &&
                           !planted(Mutant::re_entry_with_a_smaller_ticket);
    if (too_small) {
      // The ticket grows no more than it has to, so that newcomers stay after it.
      const std::uint64_t before = std::exchange(waiter.ticket, others + 1);
      each_key(waiter.key, waiter.others, [&](std::string_view key) {
        Line& line = line_of(key);
        line.waiters.erase({before, waiter.place});
        line.greatest = std::max(line.greatest, waiter.ticket);
        line.grown = std::max(line.grown, waiter.ticket);
        line.waiters.emplace(std::pair(waiter.ticket, waiter.place), id);
      });
      waiter.ready = waiter.next = NodeSet();
      send_entries({id}, voters(now));
    }
  }
  schedule_in_line(id);
  maybe_try(now, id);
}

/// Clients of other libraries publish no message when they release, nor do clients of ours that may
/// not publish. A queue head that finds such a holder, or one holder after another without a
/// message, looks as often as those clients try; else it would nearly always find the lock taken.
void Engine::look_sooner(Time now, Waiter& waiter, const Place& place) {
  if (place.free || place.holder == 0) return;
  const bool unnoticed = waiter.holder > 1 && place.holder != waiter.holder;
  waiter.polls = waiter.polls || place.holder == 1 || unnoticed;
  waiter.holder = place.holder;
  if (!waiter.polls) return;
  const Duration pause = config_.retry_delay + random_.below(config_.retry_jitter);
  waiter.look_at = std::min(waiter.look_at, later(now, pause));
}

void Engine::on_wake(Time now, int node, std::uint64_t place, int slot) {
  advance(now);
  const auto told = places_.find(place);
  if (told != places_.end()) {
    Waiter& waiter = waiters_[told->second];
    waiter.seen.doubt(node);
    waiter.holder = 0;
    waiter.polls = false;
  }
  cause_ = Cause::message;
  wake(now, node, place, slot);
  cause_ = Cause::look;
}

void Engine::wake(Time now, int node, std::uint64_t place, int slot) {
  const auto found = places_.find(place);
  if (found == places_.end()) return;
  const WaiterId id = found->second;
  Waiter& waiter = waiters_[id];
  waiter.ready.add(node);
  if (waiter.capacity != 0) waiter.seen.learn_free(node, slot);
  maybe_try(now, id);
}

void Engine::on_listening(Time now) {
  if (!lines_.empty()) refresh_at_ = now;
}

/// Notes what the answer to an acquisition, or to its release, reports of the line.
void Engine::heard_in_line(Time now, int node, const Claim& claim, const Answer& answer) {
  if (answer.next_waiter != 0) {
    const auto next = places_.find(answer.next_waiter);
    if (next != places_.end()) waiters_[next->second].next.add(node);
  }
  if (answer.greatest_ticket != 0) {
    if (Waiter* waiter = waiters_.find(claim.waiter)) {
      waiter->greatest = std::max(waiter->greatest, answer.greatest_ticket);
    }
  }
  if (answer.first_in_line) wake(now, node, claim.not_woken, claim.slot);
}

/// Tries once a quorum of nodes has reported that it is first and the lock is free: after the first
/// report alone, the try would reach nodes that have not run the release yet.
void Engine::maybe_try(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (!waiter.pausing || !waiter.settled || waiter.place == 0) return;
  if ((waiter.ready & voters(now)).size() < quorum_of(config_.nodes)) return;
  if (waiter.capacity != 0 && !may_try_slot(now, waiter)) {
    if (now >= waiter.guess_at) return;
    const Time due = std::min({waiter.wait_until, waiter.look_at, waiter.guess_at});
    return waiter_timers_.set(id.index, due);
  }
  if (now < waiter.not_before) return schedule_in_line(id);
  attempt(now, id);
}

/// Enters the line, or waits on in it, after a lost attempt whose keys are being released already.
void Engine::lost_in_line(Time now, ClaimId claim_id) {
  Claim& claim = claims_[claim_id];
  const WaiterId id = claim.waiter;
  claim.waiter = WaiterId();
  Waiter& waiter = waiters_[id];
  waiter.last = claim.tally;
  waiter.pausing = true;
  if (waiter.place == 0) {
    waiter.settled = true;
    return enter(now, id);
  }
  // For several locks each release leads to a try; a try that no node granted is not counted.
  const bool in_vain = waiter.others != nullptr && claim.tally.granted_by().empty();
  if (!in_vain && ++waiter.tries >= tries_at_once) {
    waiter.not_before = later(now, config_.retry_delay + random_.below(config_.retry_jitter));
  }
  schedule_in_line(id);
  maybe_try(now, id);
}

void Engine::schedule_in_line(WaiterId id) {
  const Waiter& waiter = waiters_[id];
  Time due = waiter.wait_until;
  if (waiter.pausing) {
    due = std::min(due, waiter.look_at);
    if (waiter.ready.size() >= quorum_of(config_.nodes)) {
      due = std::min(due, std::max(waiter.not_before, Time()));
    }
  }
  waiter_timers_.set(id.index, due);
}

void Engine::on_line_due(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (!waiter.pausing) return waiter_timers_.set(id.index, waiter.wait_until);
  if (now >= waiter.look_at) {
    waiter.look_at = never;
    send_entries({id}, voters(now));
  }
  waiter_timers_.set(id.index, std::min(waiter.wait_until, waiter.look_at));
  maybe_try(now, id);
}

/// Keeps all entries of this process alive and asks for their places, in a few commands per node.
void Engine::refresh(Time now) {
  std::vector<WaiterId> all;
  for (const auto& [key, line] : lines_) {
    for (const auto& [ticket, waiter] : line.waiters) {
      const Waiter& one = waiters_[waiter];
      if (one.others == nullptr || one.key == key) all.push_back(waiter);
    }
  }
  refresh_at_ = now + config_.entry_life / 3;
  send_entries(all, voters(now));
}

/// Takes the entry out of the line on every node that may have it, also one that is away now.
void Engine::leave(Time now, const Waiter& waiter) {
  if (waiter.entered.empty()) return;
  const ClaimId id = new_claim(waiter.key, {});
  Claim& claim = claims_[id];
  claim.others = waiter.others;
  claim.place = waiter.place;
  claim.terms.shared = waiter.terms.shared;
  claim.capacity = waiter.capacity;
  claim.slot = waiter.slot;
  claim.may_hold = waiter.entered;
  leave(now, id);
}

/// The same with this new claim, which holds no key and only removes the entry.
void Engine::leave(Time now, ClaimId id) {
  Claim& claim = claims_[id];
  claim.phase = Phase::releasing;
  claim.leaves = true;
  claim.keys_die = now + config_.entry_life;
  clean_up(id, takes_releases_ & claim.may_hold);
  forget_if_done(now, id);
}

void Engine::drop_place(Waiter& waiter) {
  if (waiter.place == 0) return;
  places_.erase(waiter.place);
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    line->second.waiters.erase({waiter.ticket, waiter.place});
    if (line->second.waiters.empty()) lines_.erase(line);
  });
  if (lines_.empty()) refresh_at_ = never;
  waiter.place = 0;
}

/// The waiter of this process that gets the lock from this holder of ours: the first in our line,
/// if a quorum of nodes has reported no other process's waiter before it. Only for single locks,
/// and not after a reader, which is hardly ever the last reader.
WaiterId Engine::heir_of(Time now, const Claim& claim) {
  if (lines_.empty() || claim.others != nullptr || claim.terms.shared) return {};
  const auto line = lines_.find(claim.key());
  if (line == lines_.end()) return {};
  const WaiterId id = line->second.waiters.begin()->second;
  const Waiter& waiter = waiters_[id];
  if (!waiter.pausing || !waiter.settled || now < waiter.not_before) return {};
  if (waiter.others != nullptr) return {};  // only the nodes know whether its other locks are free
  if (planted(Mutant::hand_over_past_others)) return id;
  const bool next = (waiter.next & voters(now)).size() >= quorum_of(config_.nodes);
  return next ? id : WaiterId();
}

}  // namespace quorumlock::core
