#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lock/mutants.hpp"
#include "lock/types.hpp"
#include "members/enrolment_record.hpp"
#include "members/membership.hpp"
#include "members/timed_wait.hpp"

namespace quorumlock::redis {

/// The wait of a node that may have forgotten locks: a candidate with a nonce stands on it, and if
/// the same candidate still stands when the wait is over, the node has forgotten nothing meanwhile.
class CandidateWait {
 public:
  /// The candidate that we would write for this future record. It contains the wait for what it
  /// replaces, so that a client that adopts the candidate waits as long.
  /// `least` is what others do not know of.
  [[nodiscard]] std::string propose(EnrolmentRecord record, core::Duration least) const;
  /// The time to live of a candidate, in ms, after the last look by a client of its list: clients
  /// that bring the node back may come rarely.
  static constexpr std::string_view life = "604800000";
  /// How long, in ms, nobody may have looked at a candidate for another list before ours replaces
  /// it.
  [[nodiscard]] std::string patience() const;

  /// Makes the wait last at least this long, because locks that were granted by a record which is
  /// being replaced may last as long.
  void lengthen(core::Duration wait) { longest_ = std::max(longest_, wait); }
  /// Takes how long the wait is for the state with which the node would be let in. Returns whether
  /// it has changed.
  bool expect(core::Duration wait);
  /// Notes what the record of an earlier run says, if there is one.
  void remember(SharedMembership its) {
    if (!core::planted(core::Mutant::list_on_disk_ignored)) remembered_ = std::move(its);
  }
  /// Notes what the standing candidate says, and the node's TIME.
  void reads(const EnrolmentCandidate& candidate, std::int64_t time) {
    mark_.reset();
    if (candidate.record.members.founding != 0) mark_ = candidate.record.members;
    by_nodes_.looked(candidate, time);
  }
  /// Notes that this candidate, whose own wait is this long, stands on the node. The wait begins
  /// again if it is another candidate than before.
  void stands(core::Time now, std::string text, core::Duration wait, double drift_factor);
  /// Whether the candidate is another one than at the last look. The client that put it there may
  /// know the run by another name: then the node has been a replica since the greeting of one of
  /// the two clients.
  [[nodiscard]] bool was_replaced() const { return replaced_; }
  /// Another node has told its TIME: see TimedWait.
  void hears(std::string_view nonce, const std::string& name, std::int64_t time) {
    by_nodes_.heard(nonce, name, time);
  }
  /// Compares the wait with the clocks of the nodes; `nodes` is the size of the list. Returns true
  /// if the wait has just turned out to be over.
  bool weigh(core::Time now, int nodes);
  /// The candidate with the TIMEs that it lacks; unset if it lacks none.
  [[nodiscard]] std::optional<std::string> with_times() const;
  /// The candidate names these TIMEs now.
  void names(std::string text);
  /// The node's own clock does not confirm that the wait is over.
  void doubt() {
    over_.reset();
    watched_ = false;
  }
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
    watched_ = now >= until_;
    seen_ = asked_;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  /// The nonce of the candidate that was read last.
  [[nodiscard]] const std::string& nonce() const { return by_nodes_.candidate().record.nonce; }
  [[nodiscard]] bool ripe() const { return watched_ || over_; }
  /// Whether the node may be let in as far as the wait goes.
  [[nodiscard]] bool has_waited() const {
    return ripe() || core::planted(core::Mutant::repair_before_the_wait);
  }
  [[nodiscard]] core::Time until() const { return std::min(until_, over_.value_or(until_)); }
  /// How old the candidate has to be by the node's own clock when the node is enrolled; zero if we
  /// have watched it for as long.
  [[nodiscard]] core::Duration age() const {
    return over_ && !watched_ ? wait_ : core::Duration::zero();
  }
  /// Until when the candidate is known to have stood, without a gap since the wait began.
  [[nodiscard]] core::Time seen() const { return seen_; }
  /// The list that the candidate was made for; unset if there is none, or its groups are not ours.
  [[nodiscard]] const std::optional<MembersMark>& mark() const { return mark_; }
  [[nodiscard]] const SharedMembership& remembered() const { return remembered_; }
  /// Why the node is not enrolled in this list unless other nodes vouch for it; empty if it is. The
  /// node may have forgotten locks, but the record of an earlier run may say that it belongs to
  /// another list, or has other terms: clients with this list could then get locks that clients
  /// with that list hold.
  [[nodiscard]] std::pair<Vote, std::string> refusal(const NodeNames& list,
                                                     const NamedTerms& named) const;

 private:
  std::string text_;
  SharedMembership remembered_;
  std::optional<MembersMark> mark_;
  void count_wait();

  core::Duration longest_{}, expected_{};
  core::Duration own_{};   ///< the wait that the candidate contains
  core::Duration wait_{};  ///< the longest of these and of what the node remembers, with the margin
  double drift_factor_ = 0;
  core::Time since_{};  ///< when we first saw the candidate
  core::Time until_{}, asked_{}, seen_{};
  std::optional<core::Time> over_;  ///< since when the wait is known to be over by nodes' clocks
  TimedWait by_nodes_;
  bool watched_ = false;  ///< the wait is over by our clock, at the last look
  bool replaced_ = false;
};

}  // namespace quorumlock::redis
