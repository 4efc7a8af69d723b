#include "members/candidate_wait.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lock/mutants.hpp"
#include "lock/validity.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;
using core::Time;

std::string CandidateWait::propose(EnrolmentRecord record, core::Duration least) const {
  EnrolmentCandidate candidate{std::move(record)};
  candidate.wait_ms =
      std::chrono::ceil<std::chrono::milliseconds>(std::max(longest_, least)).count();
  return candidate.to_string();
}

std::string CandidateWait::patience() const {
  const core::Duration wait = std::max(expected_, longest_);
  return std::to_string((2 * wait + std::chrono::minutes(1)) / std::chrono::milliseconds(1));
}

std::pair<Vote, std::string> CandidateWait::refusal(const NodeNames& list,
                                                    const NamedTerms& named) const {
  if (!remembered_) return {};
  const std::string begin = "was restarted, and ";
  if (const std::string why = refusal_of(*remembered_, list); !why.empty()) {
    return {Vote::nodes_differ, begin + why};
  }
  const auto [vote, why] = terms_difference(*remembered_, list, named);
  return {vote, why.empty() ? "" : begin + why};
}

void CandidateWait::stands(Time now, std::string text, core::Duration wait, double drift_factor) {
  // What is behind the TIME of its beginning is added meanwhile.
  const auto beginning = [](std::string_view one) {
    return one.substr(0, one.find(',', std::min(one.size(), one.find(';'))));
  };
  const bool same = beginning(text) == beginning(text_);
  replaced_ = !same && !text_.empty();
  text_ = std::move(text);
  if (same || (replaced_ && planted(Mutant::watch_goes_on))) return;
  over_.reset();
  since_ = now;
  own_ = wait;
  drift_factor_ = drift_factor;
  count_wait();
}

bool CandidateWait::expect(core::Duration wait) {
  if (wait == expected_) return false;
  expected_ = wait;
  const core::Duration before = wait_;
  count_wait();
  if (wait_ > before) doubt();
  return true;
}

void CandidateWait::count_wait() {
  core::Duration longest = std::max({own_, longest_, expected_});
  // The votes that the node may have forgotten were given by the record that it remembers.
  if (remembered_) longest = std::max(longest, remembered_->longest_max_ttl());
  const core::Duration margin = core::margin(longest, drift_factor_);
  wait_ = longest + margin;
  until_ = since_ + wait_;
  if (planted(Mutant::no_quarantine)) until_ = since_;
  if (planted(Mutant::absent_taken_as_new) && !remembered_) until_ = since_;
  if (planted(Mutant::quarantine_too_short)) until_ = since_ + longest / 2;
  if (planted(Mutant::quarantine_by_a_fast_clock)) until_ = since_ + longest - margin;
}

bool CandidateWait::weigh(Time now, int nodes) {
  if (ripe() || text_.empty()) return false;
  if (planted(Mutant::each_client_waits)) return false;
  if (!by_nodes_.is_over(nodes, wait_)) return false;
  over_ = now;
  return true;
}

std::optional<std::string> CandidateWait::with_times() const {
  std::optional<NodeTimes> times = by_nodes_.to_name();
  if (!times || text_.empty()) return std::nullopt;
  EnrolmentCandidate candidate = by_nodes_.candidate();
  candidate.times = std::move(*times);
  return candidate.to_string();
}

void CandidateWait::names(std::string text) {
  text_ = std::move(text);
  if (auto candidate = EnrolmentCandidate::parse(text_)) {
    by_nodes_.names(std::move(candidate->times));
  }
}

void CandidateWait::disconnected() {
  doubt();
  by_nodes_.forget();
  mark_.reset();
}

void CandidateWait::forget() {
  doubt();
  by_nodes_.forget();
  text_.clear();
  mark_.reset();
}

}  // namespace quorumlock::redis
