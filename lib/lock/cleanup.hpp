#pragma once

#include "lock/exchange.hpp"
#include "wait/permits.hpp"

namespace quorumlock::core {

/// Giving up a claim: deletes our keys wherever they may be, and forgets the claim once no key can
/// be left. A claim that is given up is in Phase::releasing.
class Cleanup {
 public:
  Cleanup(Exchange& exchange, Permits& permits) : exchange_(exchange), permits_(permits) {}

  /// Releases a lease at its holder's wish; Released reports the verdict if `report`. The reply to
  /// the release is to resume the waiter `heir`, if its place is not zero.
  void release(Time now, ClaimId id, bool report, const ClaimEntry& heir);
  /// Releases the token of this claim, whoever holds it. Reported as Released.
  void release_token(Time now, ClaimId id);
  /// Gives up a claim after a lost attempt or a lost lease. The round's tally stays: its late
  /// answers still show whether a quorum was reached.
  void give_up(Time now, ClaimId id);
  /// Takes the entry of this claim out of the line on these nodes, also on those that are away now.
  /// The claim's locks and place are copied.
  void take_out(Time now, const Claim& of, NodeSet nodes);
  /// The same with a new claim that holds no key, for the place and the footprint's nodes that it
  /// has.
  void take_out(Time now, ClaimId id);
  /// Decides a release, if a user waits for it.
  void judge(Time now, ClaimId id, Claim& claim) {
    if (claim.asked_for) decide(now, id, claim);
  }
  /// Keeps track of the nodes that may have a key of ours, and until when: a key that was set or
  /// renewed late lives for a whole ttl from then, not from when the command was sent.
  static void note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer);
  /// Forgets the claim once every answer has arrived and no node can have a key of ours. If a node
  /// may have one, the claim waits for the node's return, or for another try if the node is there
  /// and refused, and at the longest until the key has run out by itself.
  void forget_if_done(Time now, ClaimId id);
  void on_due(Time now, ClaimId id);
  /// Sends the releases that a node has missed while it was away. O(claims).
  void on_back(int node);

 private:
  void decide(Time now, ClaimId id, Claim& claim);
  void owe_entry(Time now, Claim& claim) const;

  Exchange& exchange_;
  Permits& permits_;
};

}  // namespace quorumlock::core
