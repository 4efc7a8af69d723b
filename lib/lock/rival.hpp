#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lock/answer.hpp"
#include "lock/types.hpp"

namespace quorumlock::core {

/// For how long a lock has been held, by a node's counter and clock, both in us: a fencing token is
/// the time of the acquisition since 1970, unless the counters are ahead of the clocks. Unset: the
/// counter is not a time from 2001 to now.
std::optional<std::chrono::microseconds> age_of(std::int64_t fence, std::int64_t node_time);

/// The holder that keeps an acquisition from its lock, as far as the nodes agree on one.
class Rival {
 public:
  /// Takes a node's refusal of an attempt.
  void hear(Time now, int node, const Answer& refusal);
  /// Notes that a node holds the lock for this token; for none if the token is empty. `since` is
  /// when the holder got it, by our clock; `never` if the node does not report that. `due` is the
  /// time until the lock expires there; negative: it does not; zero: not reported.
  void note(Time now, int node, std::string_view token, Time since, Duration due = {});
  /// The holder's token, if at least this many nodes hold the lock for it; else empty.
  [[nodiscard]] std::string_view token(int nodes) const;
  /// Since when the holder has had the lock, by our clock; `never` if that is not known.
  [[nodiscard]] Time since() const { return since_; }
  /// When the lock expires unless it is extended, by our clock and the node that was heard last:
  /// `never` if it does not, unset if that is not known.
  [[nodiscard]] std::optional<Time> expiry() const { return expiry_; }

 private:
  std::string token_;
  NodeSet nodes_;
  Time since_ = never;
  std::optional<Time> expiry_;
};

}  // namespace quorumlock::core
