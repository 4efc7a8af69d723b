#include <algorithm>
#include <functional>
#include <utility>

#include "core/engine.hpp"

// Which slot of a semaphore to try: each is a key of its own, and one permit (docs/waiting.md).
namespace quorumlock::core {
namespace {

/// Of one attempt: a slot that is free on a quorum of nodes is found in two where no votes split.
constexpr int most_rounds = 8;

}  // namespace

/// Which slot this process has released last; a hint, which semaphores may share.
int& Engine::slot_left(std::string_view key) {
  return slots_left_[std::hash<std::string_view>{}(key) % slots_left_.size()];
}

/// Begins where this process has left off; else anywhere, so that many do not all try the same.
void Engine::begin_permit(Waiter& waiter) {
  waiter.rounds = waiter.other_capacity = 0;
  waiter.slots.assign(static_cast<std::size_t>(waiter.capacity), SlotView());
  waiter.guesses = 0;
  waiter.guess_at = Time();
  waiter.slot = std::exchange(slot_left(waiter.key), 0);
  if (waiter.slot < 1 || waiter.slot > waiter.capacity) {
    waiter.slot = 1 + static_cast<int>(random_.below(Duration(waiter.capacity)).count());
  }
}

/// What a node says of the slots from this one on, all round: those up to `free` are taken. Zero: all
/// are, or others are before this waiter there. That one was free stays known until it is tried:
/// a message may overtake an answer from before.
void Engine::learn(Waiter& waiter, int node, int from, int free) {
  const int all = waiter.capacity;
  if (from < 1 || from > all || free < 0 || free > all) return;
  const int taken = free == 0 ? all : (free - from + all) % all;
  for (int i = 0; i < all; ++i) {
    SlotView& view = waiter.slots[static_cast<std::size_t>((from - 1 + i) % all)];
    view.taken.remove(node);
    if (i < taken && !view.free.contains(node)) view.taken.add(node);
  }
  if (free != 0) learn_free(waiter, node, free);
}

/// A message names one slot that is free: that others were taken is from before it.
void Engine::doubt_slots(Waiter& waiter, int node) {
  for (SlotView& view : waiter.slots) view.taken.remove(node);
}

void Engine::learn_free(Waiter& waiter, int node, int slot) {
  if (slot < 1 || slot > waiter.capacity) return;
  SlotView& view = waiter.slots[static_cast<std::size_t>(slot - 1)];
  view.free.add(node);
  view.taken.remove(node);
}

/// The slot that most nodes say is free, of those that may be so on a quorum; zero where there is
/// none.
int Engine::likely_slot(Time now, const Waiter& waiter) {
  const NodeSet asked = voters(now);
  int likely = 0;
  int most = 0;
  for (int slot = 1; slot <= waiter.capacity; ++slot) {
    const SlotView& view = waiter.slots[static_cast<std::size_t>(slot - 1)];
    if ((asked - view.taken).size() < quorum_of(config_.nodes)) continue;
    const int votes = (asked & view.free).size();
    if (votes <= most) continue;
    likely = slot;
    most = votes;
  }
  return likely;
}

void Engine::choose_slot(Time now, Waiter& waiter) {
  if (const int likely = likely_slot(now, waiter)) waiter.slot = likely;
  waiter.slots[static_cast<std::size_t>(waiter.slot - 1)] = SlotView();  // its answers will tell
}

/// Whether one who is first in the line is to try: a slot that a quorum has said is free, or one that
/// may be; that more and more rarely, in the end once between two looks.
bool Engine::may_try_slot(Time now, Waiter& waiter) {
  const int likely = likely_slot(now, waiter);
  if (likely == 0) return false;
  const NodeSet free = waiter.slots[static_cast<std::size_t>(likely - 1)].free & voters(now);
  if (free.size() >= quorum_of(config_.nodes)) return true;
  if (now < waiter.guess_at) return false;
  waiter.guess_at = now + config_.entry_life / 3 / (64 >> std::min(waiter.guesses++, 6));
  return true;
}

/// What a refused acquisition, or what is left of it, tells of the other slots.
void Engine::hear_slot(Time now, int node, const Claim& claim, const Answer& answer) {
  Waiter* const waiter = waiters_.find(claim.waiter);
  if (waiter != nullptr && answer.capacity != 0) waiter->other_capacity = answer.capacity;
  if (answer.vote != Vote::held) return;
  if (claim.place != 0) {
    const auto place = places_.find(claim.place);
    if (place == places_.end()) return;
    learn(waiters_[place->second], node, claim.slot, answer.free_slot);
    if (answer.free_slot != 0) wake(now, node, claim.place, answer.free_slot);
  } else if (waiter != nullptr) {
    learn(*waiter, node, claim.slot, answer.free_slot);
  }
}

/// After a round that was lost by one who is not in the line: at once another slot, as long as one
/// of those that nodes say are free may be so on a quorum.
bool Engine::try_another_slot(Time now, Claim& claim) {
  const WaiterId id = claim.waiter;
  Waiter& waiter = waiters_[id];
  if (waiter.place != 0 || claim.tally.reached() != Verdict::won) return false;
  if (likely_slot(now, waiter) == 0 || ++waiter.rounds >= most_rounds) {
    waiter.rounds = 0;
    waiter.slots.assign(waiter.slots.size(), SlotView());
    return false;
  }
  claim.waiter = WaiterId();
  attempt(now, id);
  return true;
}

}  // namespace quorumlock::core
