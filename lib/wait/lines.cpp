#include "wait/lines.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "lock/owner_token.hpp"
#include "lock/quorum.hpp"

namespace quorumlock::core {
namespace {

using std::chrono::milliseconds;

/// One command with this many keeps a node busy for 0.2 ms.
constexpr std::size_t most_entries = 64;
/// The tries that follow each other without a pause. The protocol needs no more; if all of them
/// fail, the cause may take time to go away.
constexpr int tries_at_once = 4;
/// How much longer than usual the time between two refreshes may become.
constexpr int most_rest = 10;

/// Whether a holder is a client of another library, judging by its token.
bool is_foreign(std::string_view holder) {
  return !holder.empty() && TokenParts::read(holder).digits.empty();
}

/// The place of a waiter for all of these locks: it is first only if it is first in each line.
Place worst_of(std::span<const Place> places) {
  if (places.empty()) return {};
  Place worst{.before = 0, .free = true};
  for (const Place& place : places) {
    worst.before = std::max(worst.before, place.before);
    worst.free = worst.free && place.free;
    worst.slot = place.slot;  // a semaphore is never one of several locks
    worst.greatest_ticket = std::max(worst.greatest_ticket, place.greatest_ticket);
    if (worst.holder.empty() || is_foreign(place.holder)) worst.holder = place.holder;
    if (place.before != 0 || !place.free) worst.due = std::max(worst.due, place.due);
  }
  return worst;
}

}  // namespace

bool Lines::others_wait(Time now, const Acquisition& acquisition) const {
  bool others_wait = false;
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const bool here = !lines_.empty() && lines_.contains(key);
    others_wait =
        others_wait || here || waited_for_.was(now, key, exchange_.config.refresh_every());
  });
  return others_wait;
}

void Lines::enter(Time now, WaiterId id) {
  if (exchange_.process.empty()) {
    exchange_.process = draw_process(exchange_.random);
    exchange_.output(Listen{exchange_.process});
  }
  Acquisition& acquisition = waiters_[id];
  InLine& in_line = *acquisition.in_line;
  acquisition.pausing = true;
  in_line.place = ++last_place_;
  places_.emplace(in_line.place, id);
  std::uint64_t seen = in_line.greatest;
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    seen = std::max({seen, line_of(key).greatest, waited_for_.number_of(key)});
  });
  in_line.ticket = std::max(exchange_.nodes.ticket_clock(now), std::min(seen, last_ticket) + 1);
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    Line& line = line_of(key);
    line.greatest = std::max(line.greatest, in_line.ticket);
    line.waiters.emplace(std::pair(in_line.ticket, in_line.place), id);
    if (!in_line.settled) line.unsettled.insert(in_line.place);
  });
  if (refresh_at_ == never && !refreshing_) {
    refresh_at_ = now + exchange_.config.refresh_every();
  }
  const NodeSet voters = exchange_.nodes.voters(now);
  acquisition.note(now, TraceKind::entered, static_cast<std::uint64_t>(voters.size()));
  ask(id);
  schedule(id);
}

Lines::Line& Lines::line_of(std::string_view key) {
  const auto found = lines_.find(key);
  return found != lines_.end() ? found->second : lines_[std::string(key)];
}

Acquisition* Lines::at(std::uint64_t place) {
  const auto found = places_.find(place);
  return found == places_.end() ? nullptr : &waiters_[found->second];
}

/// Puts the waiter's entry on the nodes, or keeps it there, and asks for its place.
void Lines::ask(WaiterId id) {
  if (!exchange_.admission.is_queued(id)) exchange_.admission.queue(id, Admission::For::entry);
}

void Lines::send_queued(Time now) {
  const NodeSet to = exchange_.at_leisure(exchange_.nodes.voters(now));
  const SlotId id = sent_.take();
  Entries& entries = sent_[id];
  entries.waiters.clear();
  entries.unanswered = 0;
  Admission& admission = exchange_.admission;
  // One command takes all entries of a waiter, which then has a place in all its lines or none.
  while (admission.has(Admission::For::entry)) {
    const WaiterId waiter = admission.first(Admission::For::entry);
    const std::size_t keys = waiters_[waiter].keys();
    if (!entries.waiters.empty() && entries.waiters.size() + keys > most_entries) break;
    admission.take(Admission::For::entry);
    entries.waiters.insert(entries.waiters.end(), keys, waiter);
  }
  const int votes = exchange_.nodes.majority().votes();
  entries.needed = to.size() >= votes ? votes : 0;
  if (entries.needed != 0) ++undecided_;
  send_entries(id, to, false);
  end_refresh(now);
}

void Lines::send_entries(SlotId id, NodeSet to, bool with_source) {
  Entries& entries = sent_[id];
  SendEntries sending{to,
                      Tag{id, uncounted, CommandKind::queue, with_source},
                      exchange_.process,
                      {},
                      exchange_.entry_life,
                      exchange_.config.label};
  // Waiters that have left or won must not enter again.
  std::erase_if(entries.waiters, [&](WaiterId waiter) { return waiters_.find(waiter) == nullptr; });
  for (std::size_t i = 0; i < entries.waiters.size(); i += waiters_[entries.waiters[i]].keys()) {
    Acquisition& acquisition = waiters_[entries.waiters[i]];
    InLine& in_line = *acquisition.in_line;
    in_line.entered = in_line.entered | to;
    // What the nodes have said of its place was about the smaller ticket.
    if (std::exchange(in_line.moves, false)) in_line.ready = in_line.next = NodeSet();
    each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
      const bool first = !planted(Mutant::ticket_for_each_line) || key == acquisition.key;
      const std::uint64_t ticket = first ? in_line.ticket : last_ticket - in_line.ticket;
      sending.entries.push_back({key, in_line.place, ticket, acquisition.terms.reads()});
    });
  }
  if (sending.entries.empty() || to.empty()) {
    if (entries.unanswered == 0) sent_.give_back(id);
    return;
  }
  entries.unanswered += to.size();
  exchange_.send(std::move(sending));
}

std::vector<WaiterId> Lines::on_places(Time now, int node, const Tag& tag, Vote vote) {
  Entries* const entries = sent_.find(tag.claim);
  if (entries == nullptr) return {};
  --entries->unanswered;
  if (entries->needed != 0 && --entries->needed == 0) {
    --undecided_;
    end_refresh(now);
  }
  if (vote == Vote::no_script && !tag.with_source &&
      exchange_.nodes.take_releases().contains(node)) {
    send_entries(tag.claim, NodeSet::only(node), true);
    return {};
  }
  std::vector<WaiterId> waiters = entries->waiters;
  if (entries->unanswered == 0) sent_.give_back(tag.claim);
  return waiters;
}

bool Lines::hear(Time now, WaiterId id, int node, Vote vote, std::span<const Place> places) {
  Acquisition* const acquisition = waiters_.find(id);
  if (acquisition == nullptr || acquisition->place() == 0) return false;
  const Place place = worst_of(places);
  const bool is_next = place.free && place.before == 0;
  if (acquisition->pausing) {
    const Vote seen = is_next ? Vote::absent : Vote::held;
    acquisition->last.record(node, vote == Vote::granted ? seen : vote);
  }
  if (places.empty()) {
    const bool refused = vote != Vote::granted && vote != Vote::disconnected;
    if (refused) yield_turn(*acquisition);
    return false;
  }
  acquisition->rival.note(now, node, place.holder, never,
                          place.before == 0 ? place.due : Duration::zero());
  InLine& in_line = *acquisition->in_line;
  if (!in_line.heard.contains(node) || (is_next && !in_line.ready.contains(node))) {
    const std::uint64_t before = place.before == 0 ? 0 : place.before < 3 ? 1 : 2;
    const Vote seen = place.free ? Vote::absent : Vote::held;
    acquisition->note(now, TraceKind::placed, before, node, seen);
  }
  // Only a node's first answer counts here: later ones, to a refresh, include newcomers.
  if (!in_line.heard.contains(node)) {
    in_line.greatest = std::max(in_line.greatest, place.greatest_ticket);
  }
  in_line.heard.add(node);
  each_key(acquisition->key, acquisition->others, [&](std::string_view key) {
    Line& line = line_of(key);
    line.greatest = std::max(line.greatest, place.greatest_ticket);
  });
  if (place.before <= 1) in_line.next.add(node);
  if (acquisition->permit) {
    acquisition->permit->seen.learn(node, 1, place.before == 0 ? place.slot : 0);
  }
  if (is_next) {
    in_line.ready.add(node);
  } else if (place.before <= 2 && place.due > Duration::zero()) {
    // The holder or the waiter before may have died: look again when the node will know.
    in_line.look_at = std::min(in_line.look_at, later(now, place.due + milliseconds(1)));
  }
  if (place.before == 0) look_sooner(now, in_line, place);
  settle_in_turn(id);
  schedule(id);
  return may_try(now, id);
}

/// Whether no waiter of this process that came before it to one of its lines has to settle first.
/// Else that one could get a ticket that is greater than this one's, if a node that got this one's
/// entry first reports it to that one.
bool Lines::is_turn_to_settle(const Acquisition& acquisition) {
  const std::uint64_t place = acquisition.in_line->place;
  bool is_turn = true;
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const std::set<std::uint64_t>& unsettled = line_of(key).unsettled;
    is_turn = is_turn && (unsettled.empty() || *unsettled.begin() >= place);
  });
  return is_turn;
}

/// Settles the ticket if a quorum has answered and it is its turn.
void Lines::settle_in_turn(WaiterId id) {
  const Acquisition& acquisition = waiters_[id];
  const InLine& in_line = *acquisition.in_line;
  const int votes = exchange_.nodes.majority().votes();
  if (in_line.settled || in_line.heard.size() < votes || !is_turn_to_settle(acquisition)) return;
  settle_ticket(id);
  yield_turn(acquisition);
}

/// Has the next waiter in each line settle soon: this one's ticket is final, or a node has refused
/// its entry, so that it may never be, or it leaves.
void Lines::yield_turn(const Acquisition& acquisition) {
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    std::set<std::uint64_t>& unsettled = line->second.unsettled;
    if (unsettled.erase(acquisition.in_line->place) == 0 || unsettled.empty()) return;
    waiters_.timers.set(places_.at(*unsettled.begin()).index, Time());
  });
}

/// Makes the ticket final: it grows if other waiters that came earlier have a greater one, no more
/// than it has to, so that newcomers stay after it.
void Lines::settle_ticket(WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  InLine& in_line = *acquisition.in_line;
  in_line.settled = true;
  // Earlier waiters of this process may have got greater tickets in the meantime.
  std::uint64_t others = in_line.greatest;
  each_key(acquisition.key, acquisition.others,
           [&](std::string_view key) { others = std::max(others, line_of(key).grown); });
  const bool too_small = others >= in_line.ticket && others < last_ticket &&
                         !planted(Mutant::re_entry_with_a_smaller_ticket);
  if (!too_small) return;
  const std::uint64_t before = std::exchange(in_line.ticket, others + 1);
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    Line& line = line_of(key);
    line.waiters.erase({before, in_line.place});
    line.greatest = std::max(line.greatest, in_line.ticket);
    line.grown = std::max(line.grown, in_line.ticket);
    line.waiters.emplace(std::pair(in_line.ticket, in_line.place), id);
  });
  in_line.moves = true;
  in_line.ready = in_line.next = NodeSet();
  ask(id);
}

/// Clients of other libraries publish no message when they release, nor do clients of ours that may
/// not publish. A queue head that finds such a holder, or one holder after another without a
/// message, looks as often as those clients try; else it would nearly always find the lock taken.
void Lines::look_sooner(Time now, InLine& in_line, const Place& place) {
  if (place.free || place.holder.empty()) return;
  const std::uint64_t holder = std::hash<std::string_view>()(place.holder) | 1U;
  const bool unnoticed = in_line.holder != 0 && holder != in_line.holder;
  in_line.polls = in_line.polls || is_foreign(place.holder) || unnoticed;
  in_line.holder = holder;
  if (!in_line.polls) return;
  const Duration pause = exchange_.config.pause(exchange_.random);
  in_line.look_at = std::min(in_line.look_at, later(now, pause));
}

WaiterId Lines::wake(Time now, int node, std::uint64_t place, int slot) {
  const auto found = places_.find(place);
  if (found == places_.end()) return {};
  const WaiterId id = found->second;
  Acquisition& acquisition = waiters_[id];
  acquisition.in_line->ready.add(node);
  acquisition.note(now, TraceKind::woken, 0, node, Vote::absent);
  if (acquisition.permit) acquisition.permit->seen.learn_free(node, slot);
  return may_try(now, id) ? id : WaiterId();
}

WaiterId Lines::hear(Time now, int node, const Claim& claim, const Answer& answer) {
  if (answer.next_waiter != 0) {
    if (Acquisition* const next = at(answer.next_waiter)) next->in_line->next.add(node);
  }
  if (answer.greatest_ticket != 0) {
    Acquisition* const acquisition = waiters_.find(claim.waiter);
    if (acquisition != nullptr && acquisition->in_line) {
      InLine& in_line = *acquisition->in_line;
      in_line.greatest = std::max(in_line.greatest, answer.greatest_ticket);
    }
  }
  if (!answer.first_in_line) return {};
  return wake(now, node, claim.entry.not_woken, claim.permit.slot);
}

/// Whether to try: once a quorum of nodes has reported that the waiter is first and the lock is
/// free. After the first report alone, the try would reach nodes that have not run the release yet.
bool Lines::may_try(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  const InLine& in_line = *acquisition.in_line;
  const bool settled = in_line.settled || planted(Mutant::first_ticket_tries);
  if (!acquisition.pausing || !settled || in_line.place == 0 || in_line.moves) return false;
  const NodeSet ready = in_line.ready & exchange_.nodes.voters(now);
  if (ready.size() < exchange_.nodes.majority().votes()) return false;
  if (acquisition.permit && !permits_.may_try(now, acquisition)) {
    const Time guess_at = acquisition.permit->guess_at;
    if (now >= guess_at) return false;
    waiters_.timers.set(id.index, std::min({acquisition.wait_until, in_line.look_at, guess_at}));
    return false;
  }
  if (now >= in_line.not_before) return true;
  schedule(id);
  return false;
}

bool Lines::lost(Time now, WaiterId id, const Tally& tally) {
  Acquisition& acquisition = waiters_[id];
  InLine& in_line = *acquisition.in_line;
  // For several locks each release leads to a try; a try that no node granted is not counted.
  const bool in_vain = acquisition.others != nullptr && tally.granted_by().empty();
  if (!in_vain && ++in_line.tries >= tries_at_once) {
    in_line.not_before = later(now, exchange_.config.pause(exchange_.random));
  }
  if (std::exchange(in_line.refresh_owed, false)) ask(id);
  schedule(id);
  return may_try(now, id);
}

void Lines::schedule(WaiterId id) {
  const Acquisition& acquisition = waiters_[id];
  const InLine& in_line = *acquisition.in_line;
  Time due = acquisition.wait_until;
  if (acquisition.pausing) {
    due = std::min(due, in_line.look_at);
    if (in_line.ready.size() >= exchange_.nodes.majority().votes()) {
      due = std::min(due, std::max(in_line.not_before, Time()));
    }
  }
  waiters_.timers.set(id.index, due);
}

bool Lines::on_due(Time now, WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  InLine& in_line = *acquisition.in_line;
  if (!acquisition.pausing) {
    waiters_.timers.set(id.index, acquisition.wait_until);
    return false;
  }
  settle_in_turn(id);
  if (now >= in_line.look_at) {
    in_line.look_at = never;
    ask(id);
  }
  waiters_.timers.set(id.index, std::min(acquisition.wait_until, in_line.look_at));
  return may_try(now, id);
}

/// A waiter whose try is under way may have won already: a refresh that is sent after the try could
/// reach a node after somebody has released the lock by its token, and would enter the line again.
/// So that refresh comes after the try, or with the next refresh.
void Lines::refresh(Time now) {
  refreshing_ = true;
  refresh_began_ = now;
  refresh_at_ = never;
  for (const auto& [key, line] : lines_) {
    for (const auto& [ticket, waiter] : line.waiters) {
      Acquisition& one = waiters_[waiter];
      if (one.others != nullptr && one.key != key) continue;
      bool& owed = one.in_line->refresh_owed;
      const bool postponed = !one.pausing && !owed;
      owed = postponed;
      if (!postponed) ask(waiter);
    }
  }
  end_refresh(now);
}

/// Ends a refresh once all its entries have gone out, unless their waiters have left, and a quorum
/// has answered everything; sets the time of the next one.
void Lines::end_refresh(Time now) {
  if (!refreshing_ || undecided_ != 0 || exchange_.admission.has(Admission::For::entry)) return;
  refreshing_ = false;
  refresh_took_ = now - refresh_began_;
  const Config& config = exchange_.config;
  const Duration every = std::clamp(rest_of(refresh_took_), config.refresh_every(),
                                    most_rest * config.refresh_every());
  // The entries on the nodes live for as long as this refresh has said, the next one's for longer.
  const Duration soon = exchange_.entry_life / 3;
  exchange_.entry_life = std::max(config.entry_life, 3 * every);
  exchange_.longest_entry_life = std::max(exchange_.longest_entry_life, exchange_.entry_life);
  if (!lines_.empty()) refresh_at_ = refresh_began_ + std::min(every, soon);
  if (std::exchange(again_, false)) refresh_soon(now);
}

void Lines::forget_node(int node) {
  for (const auto& [place, id] : places_) {
    InLine& in_line = *waiters_[id].in_line;
    for (NodeSet* const nodes : {&in_line.entered, &in_line.heard, &in_line.ready, &in_line.next}) {
      nodes->remove(node);
    }
  }
}

void Lines::leave(Time now, const Acquisition& acquisition) {
  const std::optional<InLine>& in_line = acquisition.in_line;
  if (!in_line || in_line->entered.empty()) return;
  const ClaimId id = exchange_.new_claim(acquisition.key, {});
  Claim& claim = exchange_.claims[id];
  claim.others = acquisition.others;
  claim.entry.place = in_line->place;
  claim.terms.mode = acquisition.terms.mode;
  if (acquisition.permit) {
    claim.permit = {acquisition.permit->capacity, acquisition.permit->slot};
  }
  claim.footprint.nodes = in_line->entered;
  cleanup_.take_out(now, id);
}

void Lines::drop(Acquisition& acquisition) {
  if (acquisition.place() == 0) return;
  InLine& in_line = *acquisition.in_line;
  yield_turn(acquisition);
  places_.erase(in_line.place);
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const auto line = lines_.find(key);
    if (line == lines_.end()) return;
    line->second.waiters.erase({in_line.ticket, in_line.place});
    if (line->second.waiters.empty()) lines_.erase(line);
  });
  if (lines_.empty()) {
    refresh_at_ = never;
    refreshing_ = false;
    refresh_took_ = Duration::zero();
    exchange_.entry_life = exchange_.config.entry_life;
  }
  in_line.place = 0;
  end_refresh(exchange_.now);
}

WaiterId Lines::heir_of(Time now, const Claim& claim) {
  if (lines_.empty() || claim.others != nullptr || claim.terms.reads()) return {};
  const auto line = lines_.find(claim.key());
  if (line == lines_.end()) return {};
  const WaiterId id = line->second.waiters.begin()->second;
  const Acquisition& acquisition = waiters_[id];
  const InLine& in_line = *acquisition.in_line;
  if (!acquisition.pausing || !in_line.settled || in_line.moves) return {};
  if (now < in_line.not_before) return {};
  // Only the nodes know whether the other ones of several locks are free.
  if (acquisition.others != nullptr) return {};
  const NodeSet next = in_line.next & exchange_.nodes.voters(now);
  return next.size() >= exchange_.nodes.majority().votes() ? id : WaiterId();
}

}  // namespace quorumlock::core
