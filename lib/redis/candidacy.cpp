#include "redis/candidacy.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "core/mutants.hpp"
#include "core/validity.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;
using core::Time;

std::string nonce(core::Random& random) {
  std::uint64_t number = 0;
  random.fill(std::as_writable_bytes(std::span(&number, 1)));
  if (planted(Mutant::candidate_without_nonce)) return "0";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string Candidacy::propose(EnrolmentRecord record, core::Random& random) const {
  const std::chrono::milliseconds max_ttl(record.terms.max_ttl_ms);
  EnrolmentCandidate candidate{std::move(record), nonce(random), 0};
  if (longest_ > max_ttl) {
    candidate.wait_ms = std::chrono::ceil<std::chrono::milliseconds>(longest_).count();
  }
  return candidate.to_string();
}

std::string Candidacy::life(core::Duration max_ttl) const {
  const core::Duration wait = std::max(max_ttl, longest_);
  return std::to_string((2 * wait + std::chrono::minutes(1)) / std::chrono::milliseconds(1));
}

std::string Candidacy::refusal(const NodeNames& list) const {
  if (!remembered_) return {};
  const std::string why = refusal_of(*remembered_, list);
  return why.empty() ? "" : "was restarted, and " + why;
}

void Candidacy::stands(Time now, std::string text, core::Duration wait, double drift_factor) {
  const bool same = text == text_;
  replaced_ = !same && !text_.empty();
  text_ = std::move(text);
  if (same) return;
  const core::Duration longest = std::max(wait, longest_);
  until_ = now + longest + core::margin(longest, drift_factor);
  if (planted(Mutant::no_quarantine)) until_ = now;
  if (planted(Mutant::absent_taken_as_new) && !remembered_) until_ = now;
  if (planted(Mutant::quarantine_too_short)) until_ = now + longest / 2;
  if (planted(Mutant::quarantine_by_a_fast_clock)) {
    until_ = now + longest - core::margin(longest, drift_factor);
  }
}

void Candidacy::disconnected() {
  ripe_ = false;
  mark_.reset();
}

void Candidacy::forget() {
  ripe_ = false;
  text_.clear();
  mark_.reset();
}

}  // namespace quorumlock::redis
