#include "members/timed_wait.hpp"

#include <algorithm>
#include <chrono>

#include "lock/mutants.hpp"
#include "lock/quorum.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

void TimedWait::looked(const EnrolmentCandidate& candidate, std::int64_t time) {
  if (candidate.record.nonce != candidate_.record.nonce) {
    first_.clear();
    last_.clear();
  }
  candidate_ = candidate;
  time_ = time;
}

void TimedWait::heard(std::string_view nonce, const std::string& name, std::int64_t time) {
  if (nonce != candidate_.record.nonce) return;
  last_[name] = time;
  std::int64_t& first = first_.try_emplace(name, time).first->second;
  first = std::min(first, time);  // a clock that was set back begins again
}

bool TimedWait::is_over(int nodes, core::Duration wait) const {
  const std::int64_t least = std::chrono::ceil<std::chrono::microseconds>(wait).count();
  int needed = std::min(nodes - core::quorum_of(nodes) + 1, nodes - 1);
  if (planted(Mutant::wait_by_own_time_alone)) needed = 0;
  const auto passed =
      std::ranges::count_if(candidate_.times, [&](const NodeTimes::value_type& named) {
        const auto found = last_.find(named.first);
        return found != last_.end() && found->second - named.second >= least;
      });
  return time_ - candidate_.begun >= least && passed >= needed;
}

std::optional<NodeTimes> TimedWait::to_name() const {
  NodeTimes all = candidate_.times;
  for (const auto& [name, last] : last_) {
    const auto [found, added] = all.try_emplace(name, first_.at(name));
    if (!added && found->second > last) found->second = last;
  }
  if (all == candidate_.times) return std::nullopt;
  return all;
}

}  // namespace quorumlock::redis
