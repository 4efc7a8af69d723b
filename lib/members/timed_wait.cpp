#include "members/timed_wait.hpp"

#include <algorithm>
#include <chrono>

#include "lock/mutants.hpp"
#include "lock/quorum.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

void TimedWait::looked(const EnrolmentCandidate& candidate, std::int64_t time) {
  if (candidate.record.nonce != candidate_.record.nonce) heard_.clear();
  candidate_ = candidate;
  time_ = time;
}

void TimedWait::heard(std::string_view nonce, const std::string& name, std::int64_t time) {
  if (nonce != candidate_.record.nonce) return;
  const auto [found, first] = heard_.try_emplace(name, Heard{time, time});
  if (first) return;
  // A clock that was set back begins again.
  found->second = {std::min(found->second.first, time), time};
}

TimedWait::State TimedWait::state(int nodes, core::Duration wait) const {
  const std::int64_t least = std::chrono::ceil<std::chrono::microseconds>(wait).count();
  int needed = std::min(nodes - core::quorum_of(nodes) + 1, nodes - 1);
  if (planted(Mutant::wait_by_own_time_alone)) needed = 0;
  int named = 0, passed = 0;
  for (const auto& [name, time] : candidate_.times) {
    const auto found = heard_.find(name);
    if (found == heard_.end() || found->second.last < time) continue;
    ++named;
    if (found->second.last - time >= least) ++passed;
  }
  if (named < needed) return State::unwitnessed;
  const bool own = time_ - candidate_.begun >= least;
  return own && passed >= needed ? State::over : State::waiting;
}

std::optional<NodeTimes> TimedWait::to_name() const {
  NodeTimes all = candidate_.times;
  for (const auto& [name, heard] : heard_) {
    const auto [found, added] = all.try_emplace(name, heard.first);
    if (!added && found->second > heard.last) found->second = heard.last;
  }
  if (all == candidate_.times) return std::nullopt;
  return all;
}

}  // namespace quorumlock::redis
