#include "members/candidacy.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "lock/mutants.hpp"
#include "lock/validity.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;
using core::Time;

std::string nonce(core::Random& random) {
  std::uint64_t number = 0;
  random.fill(std::as_writable_bytes(std::span(&number, 1)));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string Candidacy::propose(EnrolmentRecord record) const {
  const std::chrono::milliseconds max_ttl(record.terms.max_ttl_ms);
  EnrolmentCandidate candidate{std::move(record)};
  if (longest_ > max_ttl) {
    candidate.wait_ms = std::chrono::ceil<std::chrono::milliseconds>(longest_).count();
  }
  return candidate.to_string();
}

std::string Candidacy::patience(core::Duration max_ttl) const {
  const core::Duration wait = std::max(max_ttl, longest_);
  return std::to_string((2 * wait + std::chrono::minutes(1)) / std::chrono::milliseconds(1));
}

std::string Candidacy::refusal(const NodeNames& list) const {
  if (!remembered_) return {};
  const std::string why = refusal_of(*remembered_, list);
  return why.empty() ? "" : "was restarted, and " + why;
}

void Candidacy::stands(Time now, std::string text, core::Duration wait, double drift_factor) {
  // What is behind the TIME of its beginning is added meanwhile.
  const auto beginning = [](std::string_view one) {
    return one.substr(0, one.find(',', std::min(one.size(), one.find(';'))));
  };
  const bool same = beginning(text) == beginning(text_);
  replaced_ = !same && !text_.empty();
  text_ = std::move(text);
  if (same) return;
  const core::Duration longest = std::max(wait, longest_);
  over_.reset();
  wait_ = longest + core::margin(longest, drift_factor);
  until_ = now + wait_;
  if (planted(Mutant::no_quarantine)) until_ = now;
  if (planted(Mutant::absent_taken_as_new) && !remembered_) until_ = now;
  if (planted(Mutant::quarantine_too_short)) until_ = now + longest / 2;
  if (planted(Mutant::quarantine_by_a_fast_clock)) {
    until_ = now + longest - core::margin(longest, drift_factor);
  }
}

bool Candidacy::weigh(Time now, int nodes) {
  if (over_ || ripe() || text_.empty()) return false;
  if (planted(Mutant::each_client_waits)) return false;
  if (by_nodes_.state(nodes, wait_) != TimedWait::State::over) return false;
  over_ = now;
  ripeness_ = Ripeness::timed;
  return true;
}

std::optional<std::string> Candidacy::with_times() const {
  std::optional<NodeTimes> times = by_nodes_.to_name();
  if (!times || text_.empty()) return std::nullopt;
  EnrolmentCandidate candidate = by_nodes_.candidate();
  candidate.times = std::move(*times);
  return candidate.to_string();
}

void Candidacy::names(std::string text) {
  text_ = std::move(text);
  if (auto candidate = EnrolmentCandidate::parse(text_)) {
    by_nodes_.names(std::move(candidate->times));
  }
}

void Candidacy::disconnected() {
  doubt();
  by_nodes_.forget();
  mark_.reset();
}

void Candidacy::forget() {
  doubt();
  by_nodes_.forget();
  text_.clear();
  mark_.reset();
}

}  // namespace quorumlock::redis
