#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lock/types.hpp"
#include "members/enrolment_record.hpp"

namespace quorumlock::redis {

/// The wait of a candidate by the clocks of nodes. It also ends if no client lives long enough to
/// watch the candidate.
///
/// The candidate names the TIME of its node at which it began, and TIMEs of other nodes, its
/// witnesses. A witness is read after the candidate was seen and added to that candidate only, so
/// each of these TIMEs is later than the last vote that the node may have forgotten. The wait is
/// over if it has passed by the node's own TIME, which may have been wrong at boot and stepped
/// since, and by the TIMEs of N - q + 1 others. The only node of a list has no others.
class TimedWait {
 public:
  /// Takes a look at the candidate: the node's own TIME is then `time`.
  void looked(const EnrolmentCandidate& candidate, std::int64_t time);
  /// Another node has told its TIME, which it was asked for after the candidate with this nonce was
  /// seen.
  void heard(std::string_view nonce, const std::string& name, std::int64_t time);
  /// Whether the wait, in a list of so many nodes, is over.
  [[nodiscard]] bool is_over(int nodes, core::Duration wait) const;
  /// The TIMEs that the candidate is to name, if it lacks some that were heard.
  [[nodiscard]] std::optional<NodeTimes> to_name() const;
  /// The candidate names these TIMEs now.
  void names(NodeTimes times) { candidate_.times = std::move(times); }
  void forget() { *this = {}; }
  [[nodiscard]] const EnrolmentCandidate& candidate() const { return candidate_; }

 private:
  EnrolmentCandidate candidate_;
  std::int64_t time_ = 0;   ///< the node's own, at the last look
  NodeTimes first_, last_;  ///< the first that was heard of each other node, and the last
};

}  // namespace quorumlock::redis
