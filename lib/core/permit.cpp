#include <algorithm>
#include <functional>
#include <utility>

#include "core/engine.hpp"

// Choosing the slot of a semaphore to try: each slot is one permit and has a key of its own
// (docs/waiting.md).
namespace quorumlock::core {
namespace {

/// The most rounds of one attempt. Two rounds find a slot that is free on a quorum of nodes, unless
/// votes split.
constexpr int most_rounds = 8;

}  // namespace

OwnSlots& Engine::own_slots(std::string_view key) {
  return own_slots_[std::hash<std::string_view>{}(key) % own_slots_.size()];
}

/// Begins with a slot that this process has left; otherwise with a random one, so that clients do
/// not all try the same, but not with one that this process uses.
void Engine::begin_permit(Waiter& waiter) {
  waiter.rounds = waiter.other_capacity = 0;
  waiter.seen.begin(config_.nodes, waiter.capacity);
  waiter.guesses = 0;
  waiter.guess_at = Time();
  OwnSlots& own = own_slots(waiter.key);
  waiter.slot = own.left(waiter.capacity);
  if (waiter.slot == 0) {
    const auto any = static_cast<int>(random_.below(Duration(waiter.capacity)).count());
    waiter.slot = own.unused(1 + any, waiter.capacity);
  }
}

int Engine::likely_slot(Time now, Waiter& waiter) {
  return waiter.seen.likely(voters(now), quorum_of(config_.nodes));
}

void Engine::choose_slot(Time now, Waiter& waiter) {
  if (const int likely = likely_slot(now, waiter)) waiter.slot = likely;
  waiter.seen.forget(waiter.slot);  // the answers to this try replace what was known
  own_slots(waiter.key).use(waiter.slot);
}

/// Whether the queue head should try: always if a quorum has reported a slot free; if a slot may be
/// free, more and more rarely, in the end once between two refreshes.
bool Engine::may_try_slot(Time now, Waiter& waiter) {
  const int likely = likely_slot(now, waiter);
  if (likely == 0) return false;
  if (waiter.seen.free_votes(voters(now), likely) >= quorum_of(config_.nodes)) return true;
  if (now < waiter.guess_at) return false;
  waiter.guess_at = now + config_.entry_life / 3 / (64 >> std::min(waiter.guesses++, 6));
  return true;
}

/// Notes what the answer to a refused acquisition, or to its clean-up, reports of other slots.
void Engine::hear_slot(Time now, int node, const Claim& claim, const Answer& answer) {
  Waiter* const waiter = waiters_.find(claim.waiter);
  if (waiter != nullptr && answer.capacity != 0) waiter->other_capacity = answer.capacity;
  if (answer.vote != Vote::held) return;
  if (claim.place != 0) {
    const auto place = places_.find(claim.place);
    if (place == places_.end()) return;
    waiters_[place->second].seen.learn(node, claim.slot, answer.free_slot);
    if (answer.free_slot != 0) wake(now, node, claim.place, answer.free_slot);
  } else if (waiter != nullptr) {
    waiter->seen.learn(node, claim.slot, answer.free_slot);
  }
}

/// After a waiter that is not in the line has lost a round: tries another slot at once, as long as
/// one that a node reports free may be free on a quorum.
bool Engine::try_another_slot(Time now, Claim& claim) {
  const WaiterId id = claim.waiter;
  Waiter& waiter = waiters_[id];
  if (waiter.place != 0 || claim.tally.reached() != Verdict::won) return false;
  if (likely_slot(now, waiter) == 0 || ++waiter.rounds >= most_rounds) {
    waiter.rounds = 0;
    waiter.seen.begin(config_.nodes, waiter.capacity);
    return false;
  }
  claim.waiter = WaiterId();
  attempt(now, id);
  return true;
}

}  // namespace quorumlock::core
