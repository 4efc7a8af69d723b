#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "lock/acquisition.hpp"
#include "lock/cleanup.hpp"
#include "lock/exchange.hpp"
#include "lock/fence_memory.hpp"
#include "lock/leases.hpp"
#include "wait/lines.hpp"
#include "wait/permits.hpp"

namespace quorumlock::core {

/// Every acquisition from its request to its answer: consecutive attempts, each of which has a
/// claim of its own, and between them a wait in the line or in no order. An acquisition that is won
/// becomes a lease.
class Acquisitions {
 public:
  Acquisitions(Exchange& exchange, Permits& permits, Cleanup& cleanup, Leases& leases);

  void acquire(Time now, const AcquireRequest& request, WaiterId* id);
  /// Ends the wait with this reason at once; its attempt is released in the background.
  void cancel(Time now, WaiterId id, Errc why);
  /// Cancels all acquisitions. O(the most waiters ever).
  void close(Time now) {
    waiters_.all.for_each([&](WaiterId id) { cancel(now, id, Errc::closed); });
  }

  /// Decides an attempt, as far as its answers allow.
  void judge(Time now, ClaimId id, Claim& claim);
  /// Gives the acquisition, if it is still waiting, the verdict of an attempt that was given up.
  void settle(Time now, ClaimId id);
  /// The attempt's deadline has passed.
  void on_deadline(Time now, ClaimId id);
  /// Notes what the answer to a claim's command reports about fencing tokens, the line and permits.
  void hear(Time now, int node, Claim& claim, const Answer& answer) {
    if (answer.fence > claim.fencing.noted) note_fence(now, claim, answer.fence);
    if (claim.entry.ordered || claim.entry.not_woken != 0) hear_in_line(now, node, claim, answer);
    if (claim.permit.capacity != 0) hear_slot(now, node, claim, answer);
    if (answer.vote == Vote::held && claim.phase == Phase::acquiring) {
      if (Acquisition* const acquisition = waiters_.find(claim.waiter)) {
        acquisition->rival.hear(now, node, answer);
      }
    }
    if (answer.waited_for) lines_.note_waiters(now, claim.key(), answer.greatest_ticket);
  }

  /// Adds a node's vote on an attempt, or its answer to a raise, to the trace if there is one.
  void note_vote(Time now, const Claim& claim, int node, CommandKind kind, Vote vote) {
    if (!claim.traced) [[likely]]
      return;
    const bool raise = kind == CommandKind::raise;
    note(now, claim, raise ? TraceKind::raised : TraceKind::voted, node, vote);
  }
  /// Adds to all traces that the connection to this node is ready. O(waiters).
  void on_connected(Time now, int node) {
    waiters_.all.for_each(
        [&](WaiterId id) { waiters_[id].note(now, TraceKind::connected, 0, node); });
  }

  void on_places(Time now, int node, const Tag& tag, Vote vote, std::span<const Place> places);
  void on_wake(Time now, int node, std::uint64_t place, int slot);
  /// Forgets what is known of the node with this number, which has left or is a new one.
  /// O(waiters).
  void forget_node(int node);
  /// Has the entries refreshed at once, since messages or a node's entries may be lost.
  void refresh_soon(Time now) { lines_.refresh_soon(now); }

  /// The waiter of this process that the lock is handed to, if there is one.
  WaiterId heir_of(Time now, const Claim& claim) { return lines_.heir_of(now, claim); }
  /// The heir as the release of the lock names it. Passes the holder's permit on to it, or leaves
  /// the permit free.
  ClaimEntry prepare(WaiterId heir, const Claim& holder);
  /// Makes the heir's attempt, which goes out together with the release.
  void hand_over(Time now, WaiterId heir) {
    cause_ = Cause::hand_over;
    if (waiters_.find(heir) != nullptr) try_again(now, heir);
    cause_ = Cause::look;
  }

  /// Sends what one queued waiter wants, or the entries of many; false if there is no room for what
  /// is queued. What waiters want takes turns, a batch of each, so that none keeps back the rest.
  bool send_queued(Time now);

  /// Does what is due by `now`.
  void advance(Time now);
  [[nodiscard]] Time deadline() const {
    return std::min(waiters_.timers.next(), lines_.refresh_at());
  }
  /// The acquisitions that have no answer yet.
  [[nodiscard]] Waiters& waiters() { return waiters_; }
  [[nodiscard]] const Waiters& waiters() const { return waiters_; }

 private:
  void begin(Time now, WaiterId id);
  bool send_queued(Time now, Admission::For what);
  void try_again(Time now, WaiterId id);
  void attempt(Time now, WaiterId id);
  void give_up(Time now, ClaimId id);
  void win(Time now, ClaimId id);
  void lost_in_line(Time now, ClaimId id);
  void pause(Time now, WaiterId id);
  void note(Time now, const Claim& claim, TraceKind kind, int node = -1,
            Vote vote = Vote::pending) {
    if (!claim.traced) [[likely]]
      return;
    Acquisition* const its = waiters_.find(claim.waiter);
    if (its == nullptr) return;
    its->note(now, kind, 0, node, vote);
  }
  void note_fence(Time now, Claim& claim, std::uint64_t fence);
  void hear_in_line(Time now, int node, const Claim& claim, const Answer& answer);
  void hear_slot(Time now, int node, const Claim& claim, const Answer& answer);
  void on_due(Time now, WaiterId id);
  void refuse(WaiterId id, Errc why, const Tally& tally, const std::optional<Unsent>& unsent = {});
  void forget(WaiterId id);

  Exchange& exchange_;
  Permits& permits_;
  Cleanup& cleanup_;
  Leases& leases_;
  Waiters waiters_;
  Lines lines_;
  FenceMemory fences_seen_;
  Cause cause_ = Cause::look;
  std::size_t kind_ = 0;  // what is being sent for waiters, as a number
  int in_a_row_ = 0;      // how much of that has been sent
};

}  // namespace quorumlock::core
