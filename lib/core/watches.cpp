#include "core/watches.hpp"

#include <algorithm>
#include <utility>

#include "core/quorum.hpp"

namespace quorumlock::core {

bool Watches::turn_has_come(Time now, const Acquisition& acquisition) const {
  const Config& config = exchange_.config;
  if (!acquisition.waits || acquisition.last_why != Errc::contended) return false;
  const bool plain = !config.fencing && acquisition.is_plain();
  return !plain && now - acquisition.began >= config.turn_after && !planted(Mutant::no_turn);
}

void Watches::watch(WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  if (std::exchange(acquisition.unordered()->watches, true)) return;
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const auto [watch, added] = watches_.try_emplace(std::string(key));
    watch->second.waiters.push_back(id);
    if (added) exchange_.output(Listen{{}, std::string(key), true});
  });
}

void Watches::drop(WaiterId id) {
  Acquisition& acquisition = waiters_[id];
  Unordered* const unordered = acquisition.unordered();
  if (unordered == nullptr || !std::exchange(unordered->watches, false)) return;
  each_key(acquisition.key, acquisition.others, [&](std::string_view key) {
    const auto watch = watches_.find(key);
    std::erase(watch->second.waiters, id);
    if (!watch->second.waiters.empty()) return;
    exchange_.output(Listen{{}, std::string(key), false});
    watches_.erase(watch);
  });
}

void Watches::judge_wake(Acquisition& acquisition, bool won) {
  Unordered* const unordered = acquisition.unordered();
  if (unordered == nullptr || !std::exchange(unordered->woken, false)) return;
  if (won) {
    crowds_.won(acquisition.key);
  } else {
    crowds_.missed(acquisition.key);
  }
}

void Watches::on_freed(Time now, int node, std::string_view key) {
  const auto found = watches_.find(key);
  if (found == watches_.end()) return;
  Watch& watch = found->second;
  watch.free.add(node);
  const Config& config = exchange_.config;
  if ((watch.free & exchange_.nodes.voters(now)).size() < exchange_.nodes.majority().votes())
    return;
  watch.free = NodeSet();
  Random& random = exchange_.random;
  for (const WaiterId id : watch.waiters) {
    Acquisition& acquisition = waiters_[id];
    Unordered& unordered = *acquisition.unordered();
    if (!acquisition.pausing || unordered.woken) continue;
    if (random.below(Duration(crowds_.one_in(key))) != Duration::zero()) return;
    const Time soon = later(now, random.below(config.retry_jitter / 4));
    if (soon >= unordered.retry_at) continue;
    unordered.woken = true;
    acquisition.note(now, TraceKind::woken, 0, node, Vote::absent);
    unordered.retry_at = soon;
    waiters_.timers.set(id.index, std::min(soon, acquisition.wait_until));
    return;
  }
}

void Watches::on_quorum_back(Time now) {
  Time turn = now;
  waiters_.all.for_each([&](WaiterId id) {
    Acquisition& acquisition = waiters_[id];
    Unordered* const unordered = acquisition.unordered();
    const bool pausing = unordered != nullptr && acquisition.pausing;
    if (!pausing || acquisition.last_why != Errc::no_quorum) return;
    unordered->retry_at = std::min(unordered->retry_at, turn);
    waiters_.timers.set(id.index, std::min(unordered->retry_at, acquisition.wait_until));
    turn += std::chrono::microseconds(20);
  });
}

}  // namespace quorumlock::core
