#include <string>
#include <utility>

#include "core/engine.hpp"

// Waiting in no order: attempts follow each other, and a release brings the next one forward.
namespace quorumlock::core {

/// One that waits in no order wants to know of releases.
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

/// What came of a try that a release has brought about.
void Engine::judge_wake(WaiterId id, bool won) {
  Waiter& waiter = waiters_[id];
  if (!std::exchange(waiter.woken, false)) return;
  if (won) {
    crowds_.won(waiter.key);
  } else {
    crowds_.missed(waiter.key);
  }
}

/// A release wakes those who wait in no order: of each process one, not all at the same moment, and
/// of a crowd a few.
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
