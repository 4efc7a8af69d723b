#pragma once

#include <array>
#include <string_view>

#include "lock/acquisition.hpp"
#include "lock/exchange.hpp"

namespace quorumlock::core {

/// Chooses the slot of a semaphore to try: each slot is one permit and has a key of its own
/// (docs/architecture.md).
class Permits {
 public:
  explicit Permits(Exchange& exchange) : exchange_(exchange) {}

  /// Begins with a slot that this process has left; otherwise with a random one, so that clients do
  /// not all try the same, but not with one that this process uses.
  void begin(Acquisition& acquisition);
  /// Chooses the slot of the next attempt.
  void choose(Time now, Acquisition& acquisition);
  /// Whether the queue head should try: always if a quorum has reported a slot free; if a slot may
  /// be free, more and more rarely, in the end once between two refreshes.
  bool may_try(Time now, Acquisition& acquisition);
  /// Whether an acquisition that is not in the line and has lost a round is to try another slot at
  /// once, because one that a node reports free may be free on a quorum.
  bool may_try_another(Time now, Acquisition& acquisition);
  /// Notes that this process no longer uses the claim's slot, which is probably free now.
  void leave(const Claim& claim) { own(claim.key()).leave(claim.permit.slot); }
  void drop(const Claim& claim) { own(claim.key()).drop(claim.permit.slot); }

 private:
  OwnSlots& own(std::string_view key);
  int likely(Time now, Acquisition& acquisition);

  Exchange& exchange_;
  std::array<OwnSlots, 64> own_;  // indexed by the semaphore's hash
};

}  // namespace quorumlock::core
