#pragma once

#include "lock/cleanup.hpp"
#include "lock/exchange.hpp"

namespace quorumlock::core {

/// A lease from its acquisition to its end: renewals, extends, the warning and the end. Also the
/// extension of a token that another process may hold, which is one round and no lease.
class Leases {
 public:
  Leases(Exchange& exchange, Cleanup& cleanup) : exchange_(exchange), cleanup_(cleanup) {}

  /// Makes a claim a lease: a quorum has granted it.
  void begin(ClaimId id);
  /// Begins a round for the lease's user, which is reported; the caller has checked may_extend().
  void extend(Time now, ClaimId id, Duration ttl);
  /// Does the same, and makes a writer a reader.
  void downgrade(Time now, ClaimId id);
  /// Whether the user may begin such a round: the claim is a lease with none under way.
  [[nodiscard]] bool may_extend(ClaimId id);
  /// Ends a lease at its holder's wish: see Cleanup::release.
  void release(Time now, ClaimId id, bool report, const ClaimEntry& heir);
  /// Ends a lease other than by its holder's release.
  void end(Time now, ClaimId id, Errc why);
  /// Stops renewing the lease; nothing is deleted at its end.
  void detach(Time now, ClaimId id);
  /// Drops a detached lease, whose keys run out by themselves.
  void forget(Time now, ClaimId id);
  /// Extends the token of this claim, whoever holds it. Reported as Extended.
  void extend_token(Time now, ClaimId id, Duration ttl);

  /// Notes an answer to an earlier round than the present one. If it shows that no quorum held the
  /// key, the present round's tally says so.
  static void hear_late(Claim& claim, int node, Tag tag, Vote vote);
  /// Decides a renewal, or an extension by token, as far as its answers allow.
  void judge(Time now, ClaimId id, Claim& claim);
  void judge_token_extend(Time now, ClaimId id);
  void on_due(Time now, ClaimId id);
  /// Renews the lease that is the first in the queue; there is one.
  void renew_queued(Time now);
  /// How many leases are held.
  [[nodiscard]] int held() const { return held_; }

 private:
  void renew(Time now, ClaimId id, Duration ttl);
  void give_up(Time now, ClaimId id);
  void schedule(ClaimId id);
  [[nodiscard]] Time next_renewal(ClaimId id);
  [[nodiscard]] Time renewal_pause_ends(Time now, const Claim& claim);

  Exchange& exchange_;
  Cleanup& cleanup_;
  int held_ = 0;
};

}  // namespace quorumlock::core
