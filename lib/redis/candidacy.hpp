#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/mutants.hpp"
#include "core/types.hpp"
#include "redis/enrolment_record.hpp"
#include "redis/membership.hpp"

namespace quorumlock::redis {

/// The wait of a node that may have forgotten locks: a candidate with a nonce stands on it, and if
/// the same candidate still stands when the wait is over, the node has forgotten nothing meanwhile.
class Candidacy {
 public:
  /// The candidate that we would write for this future record. If the wait is longer than its
  /// max_ttl, it contains the wait, so that a client that adopts the candidate waits as long.
  [[nodiscard]] std::string propose(EnrolmentRecord record, core::Random& random) const;
  /// The time to live of a candidate, in ms, after the last look at it. A waiting client looks at
  /// it every second, so it lives for as long as any client waits.
  [[nodiscard]] std::string life(core::Duration max_ttl) const;

  /// Makes the wait last at least this long, because locks on other terms, which are being changed,
  /// may last as long.
  void lengthen(core::Duration wait) { longest_ = std::max(longest_, wait); }
  /// Notes what the record of an earlier run says, if there is one.
  void remember(SharedMembership its) {
    if (!core::planted(core::Mutant::list_on_disk_ignored)) remembered_ = std::move(its);
  }
  /// Notes what the standing candidate says.
  void reads(const EnrolmentCandidate& candidate) { mark_ = candidate.record.members; }
  /// Notes that this candidate, whose own wait is this long, stands on the node. The wait begins
  /// again if it is another candidate than before.
  void stands(core::Time now, std::string text, core::Duration wait, double drift_factor);
  /// Whether the candidate is another one than at the last look. The client that put it there may
  /// know the run by another name: then the node has been a replica since the greeting of one of
  /// the two clients.
  [[nodiscard]] bool was_replaced() const { return replaced_; }
  /// Forgets that the wait is over: the node is not connected.
  void disconnected();
  /// Forgets the candidate, but not how long to wait.
  void forget();
  /// Forgets everything: the node is enrolled.
  void end() { *this = {}; }
  /// Notes that a look is sent.
  void asks(core::Time now) { asked_ = now; }
  /// Notes that the look has found the candidate.
  void look(core::Time now) {
    ripe_ = now >= until_;
    seen_ = asked_;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool ripe() const { return ripe_; }
  [[nodiscard]] core::Time until() const { return until_; }
  /// Until when the candidate is known to have stood, without a gap since the wait began.
  [[nodiscard]] core::Time seen() const { return seen_; }
  /// The list that the candidate was made for; unset if there is none, or its terms are not ours.
  [[nodiscard]] const std::optional<MembersMark>& mark() const { return mark_; }
  [[nodiscard]] const SharedMembership& remembered() const { return remembered_; }
  /// Why the node is not enrolled in this list unless other nodes vouch for it; empty if it is. The
  /// node may have forgotten locks, but the record of an earlier run may say that it belongs to
  /// another list: clients with this list could then get locks that clients with that list hold.
  [[nodiscard]] std::string refusal(const NodeNames& list) const;

 private:
  std::string text_;
  SharedMembership remembered_;
  std::optional<MembersMark> mark_;
  core::Duration longest_{};
  core::Time until_{}, asked_{}, seen_{};
  bool ripe_ = false, replaced_ = false;
};

/// Random bits in hexadecimal: a nonce.
std::string nonce(core::Random& random);

}  // namespace quorumlock::redis
