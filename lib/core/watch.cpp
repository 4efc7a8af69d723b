#include <string>
#include <utility>

#include "core/engine.hpp"

// Unordered waiting: attempts follow each other, and a release brings the next one forward.
namespace quorumlock::core {

/// Lets an unordered waiter enter the line after a while: waiters in the line hand the lock to each
/// other, so it would get the lock only when the line is empty. Not if it acquires with a plain
/// SET, which does not look at the line.
bool Engine::enters_late(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (!waiter.waits || waiter.last_why != Errc::contended) return false;
  const bool plain =
      !config_.fencing && !waiter.terms.shared && waiter.others == nullptr && waiter.capacity == 0;
  if (plain || now - waiter.began < config_.turn_after || planted(Mutant::no_turn)) return false;
  judge_wake(id, false);
  drop_watch(id);
  waiter.ordered = true;
  enter(now, id);
  return true;
}

/// Subscribes an unordered waiter to releases.
void Engine::watch(WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (waiter.watches) return;
  waiter.watches = true;
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    const auto [watch, added] = watches_.try_emplace(std::string(key));
    watch->second.waiters.push_back(id);
    if (added) output(Listen{{}, std::string(key), true});
  });
}

void Engine::drop_watch(WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (!waiter.watches) return;
  waiter.watches = false;
  each_key(waiter.key, waiter.others, [&](std::string_view key) {
    const auto watch = watches_.find(key);
    std::erase(watch->second.waiters, id);
    if (!watch->second.waiters.empty()) return;
    output(Listen{{}, std::string(key), false});
    watches_.erase(watch);
  });
}

/// Notes whether a try that a release has brought about was won.
void Engine::judge_wake(WaiterId id, bool won) {
  Waiter& waiter = waiters_[id];
  if (!std::exchange(waiter.woken, false)) return;
  if (won) {
    crowds_.won(waiter.key);
  } else {
    crowds_.missed(waiter.key);
  }
}

/// Wakes an unordered waiter after a release: at most one in each process, not all processes at the
/// same moment, and only a few out of a crowd.
void Engine::on_freed(Time now, int node, std::string_view key) {
  advance(now);
  const auto found = watches_.find(key);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  watch.free.add(node);
  if ((watch.free & voters(now)).size() < quorum_of(config_.nodes)) return;
  watch.free = NodeSet();
  for (const WaiterId id : watch.waiters) {
    Waiter& waiter = waiters_[id];
    if (!waiter.pausing || waiter.woken) continue;
    if (random_.below(Duration(crowds_.one_in(key))) != Duration::zero()) return;
    const Time soon = later(now, random_.below(config_.retry_jitter / 4));
    if (soon >= waiter.retry_at) continue;
    waiter.woken = true;
    waiter.retry_at = soon;
    waiter_timers_.set(id.index, std::min(soon, waiter.wait_until));
    return;
  }
}

}  // namespace quorumlock::core
