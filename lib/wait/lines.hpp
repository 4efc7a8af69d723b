#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lock/acquisition.hpp"
#include "lock/cleanup.hpp"
#include "lock/exchange.hpp"
#include "lock/recently.hpp"
#include "wait/permits.hpp"

namespace quorumlock::core {

/// Waiting in the line: each waiter has an entry on each node; the queue head may try
/// (docs/architecture.md). Functions that return a waiter, or true, say that it is to try now.
class Lines {
 public:
  Lines(Exchange& exchange, Waiters& waiters, Permits& permits, Cleanup& cleanup)
      : exchange_(exchange), waiters_(waiters), permits_(permits), cleanup_(cleanup) {}

  /// Whether others wait for one of the locks: a waiter was seen in its line lately, or one of ours
  /// is in it.
  [[nodiscard]] bool others_wait(Time now, const Acquisition& acquisition) const;
  /// Notes a node's report that the key's line has waiters.
  void note_waiters(Time now, std::string_view key, std::uint64_t greatest_ticket) {
    waited_for_.note(now, key, greatest_ticket);
  }
  /// Gets a ticket and an entry on every node. After a probe the ticket exceeds all tickets on the
  /// nodes; otherwise their answers may show that it is too small: it grows once, before the first
  /// try.
  void enter(Time now, WaiterId id);
  /// Waits on in the line after a lost attempt, whose keys are being released already.
  bool lost(Time now, WaiterId id, const Tally& tally);
  /// Takes the answer to entries; returns their waiters, in order, each as often as it has keys.
  std::vector<WaiterId> on_places(Time now, int node, const Tag& tag, Vote vote);
  /// Takes a node's answer to a waiter's entries: its place in each of its lines, or none, and then
  /// `vote` says why.
  bool hear(Time now, WaiterId id, int node, Vote vote, std::span<const Place> places);
  /// Takes a node's report that the waiter at this place is first and the lock, or this slot, is
  /// free.
  WaiterId wake(Time now, int node, std::uint64_t place, int slot);
  /// Notes what the answer to an acquisition, or to its release, reports of the line.
  WaiterId hear(Time now, int node, const Claim& claim, const Answer& answer);
  bool on_due(Time now, WaiterId id);
  /// The waiter at this place; null if there is none.
  Acquisition* at(std::uint64_t place);

  /// Takes the entry out of the line on every node that may have it, also one that is away now.
  void leave(Time now, const Acquisition& acquisition);
  /// Forgets the waiter's place.
  void drop(Acquisition& acquisition);
  /// The waiter of this process that gets the lock from this holder of ours: the first in our line,
  /// if a quorum of nodes has reported no other process's waiter before it. Only for single locks,
  /// and not after a reader, which is hardly ever the last reader.
  WaiterId heir_of(Time now, const Claim& claim);

  [[nodiscard]] Time refresh_at() const { return refresh_at_; }
  /// Keeps all entries of this process alive and asks for their places, in a few commands per node.
  /// The longer the nodes take for that, the longer is the time until the next refresh, and the
  /// life of the entries.
  void refresh(Time now);
  /// Sends entries that are queued, in one command; there is one.
  void send_queued(Time now);
  /// Notes that this node has none of our entries.
  void forget_node(int node);
  /// Has the entries refreshed at once, or as soon as the nodes have had a rest from the last time.
  void refresh_soon(Time now) {
    if (lines_.empty()) return;
    again_ = refreshing_;
    if (refreshing_) return;
    const bool slow = rest_of(refresh_took_) > exchange_.config.refresh_every();
    const Time rested = slow ? refresh_began_ + rest_of(refresh_took_) : now;
    refresh_at_ = std::min(refresh_at_, std::max(now, rested));
  }

 private:
  /// The waiters of this process in the line of one lock, by ticket.
  struct Line {
    std::map<std::pair<std::uint64_t, std::uint64_t>, WaiterId> waiters;
    std::set<std::uint64_t> unsettled;  ///< places of those whose ticket may still grow
    std::uint64_t greatest = 0;         ///< the greatest ticket seen or given
    std::uint64_t grown = 0;            ///< the greatest ticket that had been too small at first
  };
  /// The waiters of one SendEntries, in its order.
  struct Entries {
    std::vector<WaiterId> waiters;
    int unanswered = 0;
    int needed = 0;  ///< answers until a quorum has answered
  };

  Line& line_of(std::string_view key);
  bool may_try(Time now, WaiterId id);
  void look_sooner(Time now, InLine& in_line, const Place& place);
  bool is_turn_to_settle(const Acquisition& acquisition);
  void settle_in_turn(WaiterId id);
  void settle_ticket(WaiterId id);
  void yield_turn(const Acquisition& acquisition);
  void schedule(WaiterId id);
  void ask(WaiterId id);
  void send_entries(SlotId id, NodeSet to, bool with_source);
  void end_refresh(Time now);
  /// The time from one refresh to the next if the nodes take this long for one: they are to be busy
  /// with refreshes for a quarter of it at most.
  static Duration rest_of(Duration took) { return 4 * took; }

  Exchange& exchange_;
  Waiters& waiters_;
  Permits& permits_;
  Cleanup& cleanup_;
  std::map<std::string, Line, std::less<>> lines_;
  std::unordered_map<std::uint64_t, WaiterId> places_;
  std::uint64_t last_place_ = 0;
  Slots<Entries> sent_;
  Recently waited_for_;  // keys that nodes have reported waiters for
  Time refresh_at_ = never;
  Time refresh_began_{};
  Duration refresh_took_{};
  bool refreshing_ = false;  // the entries of the last refresh are not all answered by a quorum
  bool again_ = false;       // another refresh is to follow this one soon
  int undecided_ = 0;        // commands with entries that no quorum has answered
};

}  // namespace quorumlock::core
