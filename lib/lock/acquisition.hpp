#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lock/claim.hpp"
#include "lock/config.hpp"
#include "lock/output.hpp"
#include "lock/rival.hpp"
#include "lock/timer_queue.hpp"
#include "lock/trace.hpp"
#include "wait/arrival_order.hpp"
#include "wait/slot_sets.hpp"

namespace quorumlock::core {

/// The event that led to an attempt.
enum class Cause : std::uint8_t { look, message, hand_over };

/// How an acquisition waits in the line of its lock (see Lines).
struct InLine {
  bool settled = false;  ///< its ticket is final
  bool polls = false;    ///< asks for its place as often as `retry` says: see Lines::look_sooner()
  bool refresh_owed = false;  ///< its entry is sent only after the try under way
  bool moves = false;         ///< its ticket has grown, which the nodes have not been told yet
  int tries = 0;              ///< attempts lost since it entered the line
  std::uint64_t place = 0;    ///< its number in the line; zero: not in the line
  std::uint64_t ticket = 0;
  std::uint64_t greatest = 0;  ///< the greatest ticket of other waiters
  NodeSet entered;             ///< nodes that may have its entry
  NodeSet heard;               ///< nodes that have reported its place
  NodeSet ready;               ///< nodes reporting it first and the lock free, since its last try
  NodeSet next;                ///< nodes reporting only waiters of this process before it
  Time look_at = never;        ///< when to ask for its place, before the next refresh
  Time not_before{};           ///< the earliest time of the next try
  std::uint64_t holder = 0;    ///< the last reported holder, hashed; zero: unknown
};

/// How an acquisition of a permit looks for a free slot (see Permits).
struct PermitSearch {
  int capacity = 0;        ///< permits of the semaphore
  int slot = 0;            ///< the slot that it tries, or tried last
  int rounds = 0;          ///< consecutive rounds, each for another slot
  int other_capacity = 0;  ///< another capacity that a node has reported
  int guesses = 0;         ///< tries of a slot that no quorum had reported free
  Time guess_at{};         ///< the time of the next such try
  SlotViews seen;
};

/// An acquisition, from the request until it is answered.
struct Acquisition {
  std::string key;
  OtherKeys others;
  Terms terms;
  UserId user = 0;
  Time began{};
  Time wait_until{};
  bool waits = false;
  bool pausing = false;  ///< between attempts
  int attempts = 0;
  Cause cause = Cause::look;  ///< cause of the last attempt, or of the queued one
  ClaimId claim;              ///< the attempt under way, unless pausing
  Tally last;                 ///< votes of the last attempt that was settled
  Errc last_why = Errc::no_quorum;
  Rival rival;
  std::optional<InLine> in_line;  ///< unset: it waits in no order, and only looks again and again
  std::optional<PermitSearch> permit;
  Trace* trace = nullptr;  ///< the user's; null unless it wants one

  /// See LockSet::is_plain().
  [[nodiscard]] bool is_plain() const { return others == nullptr && !permit && !terms.reads(); }
  [[nodiscard]] std::size_t keys() const { return others == nullptr ? 1 : 1 + others->size(); }
  /// The acquisition's number in the line; zero if it is not in a line.
  [[nodiscard]] std::uint64_t place() const { return in_line ? in_line->place : 0; }
  /// Adds a step to the trace if there is one.
  void note(Time now, TraceKind kind, std::uint64_t count = 0, int node = -1,
            Vote vote = Vote::pending) {
    if (trace == nullptr) [[likely]]
      return;
    trace->add({now, kind, attempts, node, vote, count});
  }
  /// Adds that an attempt was sent to `asked`, which is waiting for some connections, and why the
  /// other nodes have no vote.
  void note_attempt(Time now, NodeSet asked, NodeSet connecting, const Tally& tally);
  /// Begins anew with this request, in the memory that the acquisition has.
  void begin(const AcquireRequest& request, Time now, NodeSet nodes);
  /// The reason to report when the wait is over; `attempt` is the claim under way, null for none.
  [[nodiscard]] Errc why_over(const Claim* attempt) const;
  /// The token of the holder that keeps the acquisition from a quorum of the tally's nodes; empty
  /// if there is no such holder, or none that the nodes agree on.
  [[nodiscard]] std::string holder(const Tally& tally) const;
};

/// The time of the next try of an unordered acquisition, after this lost attempt.
Time next_try(Time now, Errc why, const Config& config, Random& random);

/// All acquisitions that have no answer yet, each with a timer.
struct Waiters {
  Slots<Acquisition> all;
  TimerQueue timers;
  ArrivalOrder order;

  WaiterId take() {
    const WaiterId id = all.take();
    order.add(id.index);
    return id;
  }
  void give_back(WaiterId id) {
    timers.clear(id.index);
    order.remove(id.index);
    all.give_back(id);
  }
  /// When the oldest acquisition began; `never` if there is none.
  [[nodiscard]] Time since() {
    const std::optional<std::uint32_t> first = order.first();
    return first ? all[all.at(*first)].began : never;
  }
  Acquisition* find(WaiterId id) { return all.find(id); }
  Acquisition& operator[](WaiterId id) { return all[id]; }
};

}  // namespace quorumlock::core
