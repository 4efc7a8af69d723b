#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <quorumlock/stats.hpp>

#include "core/answer.hpp"
#include "core/ballot.hpp"
#include "core/claim.hpp"
#include "core/claims.hpp"
#include "core/clock_watch.hpp"
#include "core/fence_memory.hpp"
#include "core/output.hpp"
#include "core/recently.hpp"
#include "core/slot_sets.hpp"
#include "core/timer_queue.hpp"

namespace quorumlock::core {

/// All locks of one coordinator, as one state machine.
///
/// Inputs are the methods that take `now`; after each, the driver pulls outputs until there are
/// none and arms one timer for deadline(). Nothing here calls back, blocks, reads a clock or draws
/// a random number of its own, so the same object runs on libuv and in a simulation.
///
/// The rules it follows:
/// - an operation is a list of rounds; each round sends one command to every node at once and is
///   decided by a majority of the configured nodes as soon as that is certain;
/// - every attempt has an owner token of its own;
/// - what was given up is released on all nodes, whatever they answered, and once more on a node
///   whose grant comes in later; a cancelled wait ends the wait and never this clean-up.
class Engine {
 public:
  struct Config {
    int nodes = 0;
    double drift_factor = 0.01;
    Duration retry_delay{};
    Duration retry_jitter{};
    bool fencing = false;
    Duration max_ttl =
        std::chrono::seconds(30);  ///< how long a node with a wrong clock is mistrusted
    /// How long an entry in a line lives unless it is refreshed, which happens three times in it.
    Duration entry_life = std::chrono::seconds(3);
    /// So many claims are kept as they are; beyond that, leases that are left alone are folded.
    int unfolded = 1024;
    /// So many renew rounds are out at once, of which no quorum has answered yet. More would queue
    /// at the nodes, before everybody's acquires. By Little's law enough for 64,000 renewals a
    /// second, which 1,000,000 leases of a minute need, over a round trip of 100 ms.
    int renewals_out = 6400;
  };

  Engine(const Config& config, Random& random);

  // Inputs. Each costs O(nodes + log(claims)) but where it says otherwise.

  void acquire(Time now, const AcquireRequest& request, WaiterId* id = nullptr);
  /// Ends the wait with this reason, at once; what it has asked for is released in the background.
  void cancel(Time now, WaiterId waiter, Errc why);
  /// The claim of an Acquired belongs to this user from now on.
  void adopt(ClaimId claim, UserId user);
  /// One round, at once, on behalf of the user. False where one is under way or the claim is gone.
  bool extend(Time now, ClaimId claim, Duration ttl);
  /// As extend, and a writer is a reader from now on: others may read, and nobody else has written
  /// in between.
  bool downgrade(Time now, ClaimId claim);
  /// Ends a lease; the verdict comes as Released if `report`. False where it has ended before.
  bool release(Time now, ClaimId claim, bool report);
  /// No more renewals, and nothing is deleted at the end.
  void detach(Time now, ClaimId claim);
  /// A detached lease that nobody watches any more: its keys run out by themselves.
  void forget(Time now, ClaimId claim);
  /// A lease whose user no longer believes in it: to be ended as expired.
  void abandon(Time now, ClaimId claim);
  /// A token of whoever's: reported as Extended.
  void extend_token(Time now, std::string_view key, std::string_view token, Duration ttl,
                    UserId user);
  /// A token of whoever's: reported as Released.
  void release_token(Time now, std::string_view key, std::string_view token, UserId user);
  /// Ends every wait with Errc::closed and releases every lease (reported as Ended). Extends and
  /// releases by token and releases under way go on. O(claims).
  void close(Time now);

  void on_link(Time now, int node, LinkState state, Vote reason);
  /// The final answer to a command; Vote::disconnected and ::unreachable are answers too.
  void on_answer(Time now, int node, Tag tag, const Answer& answer);
  /// The answer to a SendEntries: a place for each entry, or none and `vote` says why.
  void on_places(Time now, int node, Tag tag, Vote vote, std::span<const Place> places);
  /// A message of the node's: this waiter is first in its line, and the lock is free, or this slot
  /// of the semaphore.
  void on_wake(Time now, int node, std::uint64_t waiter, int slot = 0);
  /// A message of the node's: the lock has been released, and nobody is in its line.
  void on_freed(Time now, int node, std::string_view key);
  /// Messages of this node's may have been lost, or come only from now on.
  void on_listening(Time now);
  /// The node is late: no vote for now. The final answer still follows.
  void on_timeout(Time now, int node, Tag tag);
  /// The node's clock, read at some moment between `asked` and `now` for another's sake.
  void on_clock(Time now, int node, Time asked, std::int64_t node_time);
  /// Does what is due by `now`; the other inputs begin with this.
  void advance(Time now) {
    now_ = now;
    if (claim_timers_.may_be_due(now) || waiter_timers_.may_be_due(now) || now >= refresh_at_) {
      do_due(now);
    }
  }

  // Outputs.

  /// Null where there is none. Holds until the next call of this, or the next input.
  const Output* next() {
    if (has_outputs()) return &outputs_[next_output_++];
    if (next_output_ != 0) outputs_.clear();
    next_output_ = 0;
    return nullptr;
  }
  [[nodiscard]] bool has_outputs() const { return next_output_ < outputs_.size(); }
  /// When to call advance() at the latest; `never` if nothing is awaited.
  [[nodiscard]] Time deadline() const;

  /// Null once it is forgotten. Holds until the next input.
  const Claim* claim(ClaimId id) { return claims_.find(id); }
  /// See Claims::reuse.
  void reuse(Names names) { claims_.reuse(std::move(names)); }
  [[nodiscard]] const Config& config() const { return config_; }
  /// The entry that this waiter has in the line: its number, zero for none, and its ticket, zero
  /// until that is settled. For whoever looks on.
  std::pair<std::uint64_t, std::uint64_t> place_of(WaiterId id) {
    const Waiter* waiter = waiters_.find(id);
    if (waiter == nullptr) return {};
    return {waiter->place, waiter->settled ? waiter->ticket : 0};
  }
  /// What is put before such numbers; empty until there was one.
  [[nodiscard]] const std::string& process() const { return process_; }
  [[nodiscard]] std::optional<ClockWatch::Drift> clock_drift(int node) const {
    return clocks_.drift(node);
  }
  /// What has happened so far.
  [[nodiscard]] const Stats& stats() const { return stats_; }
  /// True while somebody waits, a lease is held or an answer is out.
  [[nodiscard]] bool busy() const { return waiters_.used() > 0 || held_ > 0 || unanswered_ > 0; }
  /// Commands whose final answer is not in.
  [[nodiscard]] int unanswered() const { return unanswered_; }

 private:
  /// What leads to an attempt.
  enum class Cause : std::uint8_t { look, message, hand_over };
  /// An acquisition, from the request until it is answered.
  struct Waiter {
    std::string key;
    OtherKeys others;
    Terms terms;
    UserId user = 0;
    Time began{};
    Time wait_until{};
    bool waits = false;
    bool pausing = false;  ///< between attempts
    int attempts = 0;
    Cause cause = Cause::look;  ///< of the last one
    Time retry_at{};
    ClaimId claim;  ///< the attempt under way, unless pausing
    Tally last;     ///< of the last attempt that was settled
    Errc last_why = Errc::no_quorum;
    [[nodiscard]] std::size_t keys() const { return others == nullptr ? 1 : 1 + others->size(); }

    // One that waits in the line.
    bool ordered = false;
    bool settled = false;     ///< its ticket is what it will be
    int tries = 0;            ///< that were lost since it came into the line
    std::uint64_t place = 0;  ///< its number there; zero: not in the line
    std::uint64_t ticket = 0;
    std::uint64_t greatest = 0;  ///< of the others' tickets
    NodeSet entered;             ///< its entry may be on these
    NodeSet heard;               ///< have told its place
    NodeSet ready;               ///< since its last try: it is first, and the lock free
    NodeSet next;                ///< have said that nobody but this process is before it
    Time look_at = never;        ///< when to ask for its place, before the next refresh
    Time not_before{};           ///< the next try

    // One that waits unordered.
    bool watches = false;  ///< wants to know of releases
    bool woken = false;    ///< tries, or is about to, because of one

    // One that wants a permit.
    int capacity = 0;        ///< of how many; zero: wants a lock
    int slot = 0;            ///< which it tries, or tried last
    int rounds = 0;          ///< one after the other, each for another slot
    int other_capacity = 0;  ///< that a node says it has
    SlotViews seen;
    int guesses = 0;  ///< tries of one that no quorum had said is free
    Time guess_at{};  ///< the next such try
  };
  /// Those of this process who wait for one lock, in no order.
  struct Watch {
    std::vector<WaiterId> waiters;
    NodeSet free;  ///< have said so since the last attempt
  };
  /// Those of this process who wait for one lock, by ticket.
  struct Line {
    std::map<std::pair<std::uint64_t, std::uint64_t>, WaiterId> waiters;
    std::uint64_t greatest = 0;  ///< ticket that was seen or given
    std::uint64_t grown = 0;     ///< the greatest of those that had been too small at first
  };
  /// The waiters of one SendEntries, in its order.
  struct Batch {
    std::vector<WaiterId> waiters;
    int unanswered = 0;
  };

  // acquire.cpp: waiting and attempts
  void attempt(Time now, WaiterId id);
  void attempt_by_script(Time now, Claim& claim);
  bool may_be_native(Time now, const Waiter& waiter, std::uint64_t seen);
  bool waited_for(Time now, std::string_view key);
  void judge_acquire(Time now, ClaimId id, Claim& claim);
  bool fence_decided(ClaimId id);
  void win(Time now, ClaimId id);
  void settle(Time now, ClaimId id);
  void on_waiter_due(Time now, WaiterId id);
  void refuse(WaiterId id, Errc why, const Tally& tally);

  // queue.cpp: waiting in the line
  bool wait_in_line(Time now, WaiterId id);
  void enter(Time now, WaiterId id);
  void lost_in_line(Time now, ClaimId id);
  void maybe_try(Time now, WaiterId id);
  void hear(Time now, WaiterId id, int node, const Place& place);
  void on_line_due(Time now, WaiterId id);
  void wake(Time now, int node, std::uint64_t place, int slot);
  void heard_in_line(Time now, int node, const Claim& claim, const Answer& answer);
  void schedule_in_line(WaiterId id);
  void refresh(Time now);
  void send_entries(const std::vector<WaiterId>& waiters, NodeSet to);
  void send_batch(SlotId id, NodeSet to, bool with_source);
  void leave(Time now, const Waiter& waiter);
  void leave(Time now, ClaimId id);
  void drop_place(Waiter& waiter);
  Line& line_of(std::string_view key);
  WaiterId heir_of(Time now, const Claim& claim);
  [[nodiscard]] std::uint64_t ticket_clock(Time now) const;

  // watch.cpp: waiting in no order
  void watch(WaiterId id);
  void drop_watch(WaiterId id);
  void judge_wake(WaiterId id, bool won);

  // permit.cpp: which slot of a semaphore to try
  void begin_permit(Waiter& waiter);
  void choose_slot(Time now, Waiter& waiter);
  int likely_slot(Time now, Waiter& waiter);
  bool may_try_slot(Time now, Waiter& waiter);
  bool try_another_slot(Time now, Claim& claim);
  OwnSlots& own_slots(std::string_view key);
  void hear_slot(Time now, int node, const Claim& claim, const Answer& answer);

  // hold.cpp: renewing, extending, the end of a lease
  void renew(Time now, ClaimId id, Duration ttl);
  void judge_renew(Time now, ClaimId id, Claim& claim);
  void judge_token_extend(Time now, Claim& claim);
  void on_held_due(Time now, ClaimId id);
  void end(Time now, ClaimId id, Errc why);
  void schedule_held(ClaimId id);
  [[nodiscard]] Time next_renewal(ClaimId id);
  [[nodiscard]] Time renewal_pause_ends(Time now, const Claim& claim);
  void close_renewal(Claim& claim);

  // release.cpp: giving up and forgetting
  void give_up(Time now, ClaimId id);
  void owe_leave(Time now, Claim& claim);
  void clean_up(ClaimId id, NodeSet nodes);
  void judge_release(Claim& claim);
  void on_releasing_due(Time now, ClaimId id);
  void forget_if_done(Time now, ClaimId id);
  void note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer);

  // stats.cpp
  void note_win(const Claim& claim, const Waiter& waiter);
  void note_refusal(const Waiter& waiter, Errc why);
  void note_renewal(const Claim& claim, bool won);
  void note_vote(Vote vote) { ++stats_.votes[static_cast<std::size_t>(vote)]; }

  // engine.cpp
  ClaimId new_claim(std::string_view key, std::string_view token);
  void open_round(Time now, Claim& claim, Duration ttl);
  void send_round(ClaimId id, CommandKind kind, NodeSet to);
  void judge(Time now, ClaimId id, Claim& claim);
  std::uint64_t apart(Ballot& ballot);
  void count(Claim& claim, int node, CommandKind kind, Vote vote, const Answer& answer);
  void count_fence(Ballot& ballot, int node, const Answer& answer);
  Vote watch_clock(Time now, int node, const Answer& answer);
  /// The nodes that are asked for votes.
  NodeSet voters(Time now);
  /// The greatest fencing counter seen of any of the waiter's keys.
  std::uint64_t fence_seen(const Waiter& waiter) const;
  void drop_ballot(Claim& claim);
  void rest(ClaimId id);
  void send(ClaimId id, const Tag& tag, NodeSet to);
  void do_due(Time now);
  void on_claim_due(Time now, ClaimId id);
  template <class T>
  void output(T&& value) {
    outputs_.emplace_back(std::forward<T>(value));
  }

  Config config_;
  Random& random_;
  NodeSet takes_requests_;  ///< connecting or up
  NodeSet takes_releases_;  ///< those, and stalled
  std::vector<Vote> unavailable_because_;
  ClockWatch clocks_;
  NodeSet mistrusted_;  ///< for their clocks, until then
  std::array<Time, max_nodes> mistrusted_until_{};
  FenceMemory fences_seen_;
  bool natives_ = true;  ///< acquisitions may be native: no node has forbidden it
  Slots<Ballot> ballots_;
  Claims claims_;
  Slots<Waiter> waiters_;
  std::string process_;  // 16 hexadecimal digits, drawn when first needed
  std::map<std::string, Line, std::less<>> lines_;
  std::unordered_map<std::uint64_t, WaiterId> places_;
  std::uint64_t last_place_ = 0;
  std::map<std::string, Watch, std::less<>> watches_;
  Recently waited_for_;                 ///< by others, in the line
  Crowds crowds_;                       ///< of those who wait in no order
  std::array<OwnSlots, 64> own_slots_;  ///< by the semaphore's hash
  Slots<Batch> batches_;
  std::optional<std::int64_t> clock_ahead_;  // of the nodes' clocks, as far as seen, in us
  Time refresh_at_ = never;
  TimerQueue claim_timers_;
  TimerQueue waiter_timers_;
  int held_ = 0;
  int renewals_out_ = 0;  // renew rounds without a verdict, of leases
  Stats stats_;
  Time now_{};  ///< of the input at hand, for the stats
  Cause cause_ = Cause::look;
  int unanswered_ = 0;
  std::vector<Output> outputs_;
  std::size_t next_output_ = 0;
};

}  // namespace quorumlock::core
