#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <quorumlock/stats.hpp>

#include "core/admission.hpp"
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
/// The engine follows these rules:
/// - an operation is a list of rounds; each round sends one command to every node at once and is
///   decided by a majority of the configured nodes as soon as that is certain;
/// - every attempt has an owner token of its own;
/// - a claim that was given up is released on all nodes, whatever they answered, and once more on a
///   node whose grant comes in later; cancelling a wait never cancels this clean-up.
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
    /// How long a fencing counter lives after its last write. When a node's counter runs out, that
    /// much time has passed on its clock, so its TIME less half of this exceeds the counter.
    Duration fencing_memory = std::chrono::hours(24);
    /// How long an entry in a line lives unless refreshed; it is refreshed three times as often.
    Duration entry_life = std::chrono::seconds(3);
    /// How long an unordered waiter waits before it enters the line: it would not get the lock
    /// while others go on waiting there.
    Duration turn_after = std::chrono::seconds(5);
    /// How many claims are kept unfolded; beyond that, leases with nothing under way are folded.
    int unfolded = 1024;
    /// The most renew rounds out at once that no quorum has answered yet. More would queue at the
    /// nodes, ahead of every client's acquires. By Little's law this is enough for 64,000 renewals
    /// a second, which 1,000,000 leases of a minute need, over a round trip of 100 ms.
    int renewals_out = 6400;
    /// The most attempts at a lock out at once that no quorum has answered yet. First attempts
    /// beyond that are queued here, since a large burst would run into node_timeout at the nodes.
    /// By Little's law this is enough for 10,000 acquisitions a second over a round trip of 100 ms,
    /// and over one of 10 ms for more than five nodes can do. At a node that takes 50 us for each
    /// attempt, they queue for 50 ms, a tenth of the usual node_timeout.
    int acquisitions_out = 1024;
    /// How long an acquisition that does not wait may be queued here.
    Duration send_within = std::chrono::milliseconds(500);
  };

  Engine(const Config& config, Random& random);

  // Inputs. Each costs O(nodes + log(claims)) unless stated otherwise. on_link, and an answer that
  // shows a wrong clock, cost O(claims + waiters).

  void acquire(Time now, const AcquireRequest& request, WaiterId* id = nullptr);
  /// Ends the wait with this reason at once; its attempt is released in the background.
  void cancel(Time now, WaiterId waiter, Errc why);
  /// Gives the claim of an Acquired to this user.
  void adopt(ClaimId claim, UserId user);
  /// Starts one renew round at once for the user. False if the user has one under way already, or
  /// the claim is gone.
  bool extend(Time now, ClaimId claim, Duration ttl);
  /// Extends, and makes a writer a reader: others may read, and nobody has written in between.
  bool downgrade(Time now, ClaimId claim);
  /// Ends a lease; if `report`, Released brings the verdict. False if the lease has ended already.
  bool release(Time now, ClaimId claim, bool report);
  /// Stops renewing the lease; nothing is deleted at its end.
  void detach(Time now, ClaimId claim);
  /// Drops a detached lease, whose keys run out by themselves.
  void forget(Time now, ClaimId claim);
  /// Ends a lease as expired, because its user has seen it expire.
  void abandon(Time now, ClaimId claim);
  /// Extends this token, whoever holds it. Reported as Extended.
  void extend_token(Time now, std::string_view key, std::string_view token, Duration ttl,
                    UserId user);
  /// Releases this token, whoever holds it. Reported as Released.
  void release_token(Time now, std::string_view key, std::string_view token, UserId user);
  /// Ends every wait with Errc::closed and releases every lease (reported as Ended). Releases under
  /// way, and extends and releases by token, go on. O(claims).
  void close(Time now);

  void on_link(Time now, int node, LinkState state, Vote reason);
  /// Takes the final answer to a command; Vote::disconnected and ::unreachable are answers too.
  void on_answer(Time now, int node, Tag tag, const Answer& answer);
  /// Takes the answer to a SendEntries: a place for each entry, or none, and then `vote` says why.
  void on_places(Time now, int node, Tag tag, Vote vote, std::span<const Place> places);
  /// The node's message that this waiter is first in its line, and that the lock, or this slot of
  /// the semaphore, is free.
  void on_wake(Time now, int node, std::uint64_t waiter, int slot = 0);
  /// The node's message that the lock has been released and that its line is empty.
  void on_freed(Time now, int node, std::string_view key);
  /// A node's messages may have been lost until now.
  void on_listening(Time now);
  /// The node is late and counts as not voting for now; the final answer still follows.
  void on_timeout(Time now, int node, Tag tag);
  /// The node's clock, which a command that is not the engine's read between `asked` and `now`.
  void on_clock(Time now, int node, Time asked, std::int64_t node_time);
  /// Does what is due by `now`; the other inputs begin with this.
  void advance(Time now) {
    now_ = now;
    if (claim_timers_.may_be_due(now) || waiter_timers_.may_be_due(now) || now >= refresh_at_) {
      do_due(now);
    }
  }

  // Outputs.

  /// The next output, or null. It is valid until the next call of this or the next input. When all
  /// other outputs are taken, queued acquisitions are sent if there is room for them.
  const Output* next() {
    if (has_outputs()) return &outputs_[next_output_++];
    if (next_output_ != 0) outputs_.clear();
    next_output_ = 0;
    return admission_.may_send() ? next_of_queued() : nullptr;
  }
  [[nodiscard]] bool has_outputs() const { return next_output_ < outputs_.size(); }
  /// The latest time for the next call of advance(); `never` if no time matters.
  [[nodiscard]] Time deadline() const;

  /// Null once the claim is forgotten. The pointer is valid until the next input.
  const Claim* claim(ClaimId id) { return claims_.find(id); }
  /// See Claims::reuse.
  void reuse(Names names) { claims_.reuse(std::move(names)); }
  [[nodiscard]] const Config& config() const { return config_; }
  /// The waiter's entry in the line, for tests: its number, zero for none, and its ticket, zero
  /// until the ticket is settled.
  std::pair<std::uint64_t, std::uint64_t> place_of(WaiterId id) {
    const Waiter* waiter = waiters_.find(id);
    if (waiter == nullptr) return {};
    return {waiter->place, waiter->settled ? waiter->ticket : 0};
  }
  /// The prefix of such numbers on the nodes; empty until the first waiter enters a line.
  [[nodiscard]] const std::string& process() const { return process_; }
  [[nodiscard]] std::optional<ClockWatch::Drift> clock_drift(int node) const {
    return clocks_.drift(node);
  }
  /// The least that the node's own clock can show, in us since 1970, if drift_factor leaves that
  /// uncertain by no more than a quarter of `left`; else zero.
  [[nodiscard]] std::int64_t clock_of(Time now, int node, Duration left) const {
    return clocks_.at_least(now, node, left / 4);
  }
  [[nodiscard]] const Stats& stats() const { return stats_; }
  /// True while there is a waiter, a lease or an unanswered command.
  [[nodiscard]] bool busy() const { return waiters_.used() > 0 || held_ > 0 || unanswered_ > 0; }
  /// The number of commands whose final answer has not arrived.
  [[nodiscard]] int unanswered() const { return unanswered_; }

 private:
  /// The event that led to an attempt.
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
    Cause cause = Cause::look;  ///< cause of the last attempt
    Time retry_at{};
    ClaimId claim;  ///< the attempt under way, unless pausing
    Tally last;     ///< votes of the last attempt that was settled
    Errc last_why = Errc::no_quorum;
    [[nodiscard]] std::size_t keys() const { return others == nullptr ? 1 : 1 + others->size(); }

    // For a waiter in the line.
    bool ordered = false;
    bool settled = false;     ///< its ticket is final
    int tries = 0;            ///< attempts lost since it entered the line
    std::uint64_t place = 0;  ///< its number in the line; zero: not in the line
    std::uint64_t ticket = 0;
    std::uint64_t greatest = 0;  ///< the greatest ticket of other waiters
    NodeSet entered;             ///< nodes that may have its entry
    NodeSet heard;               ///< nodes that have reported its place
    NodeSet ready;               ///< nodes reporting it first and the lock free, since its last try
    NodeSet next;                ///< nodes reporting only waiters of this process before it
    Time look_at = never;        ///< when to ask for its place, before the next refresh
    Time not_before{};           ///< the earliest time of the next try
    std::int64_t holder = 0;     ///< Place::holder, as last reported
    bool polls = false;          ///< looks at the pace of `retry`: see look_sooner()

    // For an unordered waiter.
    bool watches = false;  ///< listens for releases
    bool woken = false;    ///< a release has brought about its present or next try

    // For a waiter for a permit.
    int capacity = 0;        ///< permits of the semaphore; zero: wants a lock
    int slot = 0;            ///< the slot that it tries, or tried last
    int rounds = 0;          ///< consecutive rounds, each for another slot
    int other_capacity = 0;  ///< another capacity that a node has reported
    SlotViews seen;
    int guesses = 0;  ///< tries of a slot that no quorum had reported free
    Time guess_at{};  ///< the time of the next such try
  };
  /// The unordered waiters of this process for one lock.
  struct Watch {
    std::vector<WaiterId> waiters;
    NodeSet free;  ///< nodes that have reported a release since the last waking
  };
  /// The waiters of this process in the line of one lock, by ticket.
  struct Line {
    std::map<std::pair<std::uint64_t, std::uint64_t>, WaiterId> waiters;
    std::uint64_t greatest = 0;  ///< the greatest ticket seen or given
    std::uint64_t grown = 0;     ///< the greatest ticket that had been too small at first
  };
  /// The waiters of one SendEntries, in its order.
  struct Batch {
    std::vector<WaiterId> waiters;
    int unanswered = 0;
  };

  // acquire.cpp: waiting and attempts
  void attempt(Time now, WaiterId id);
  bool waited_for(Time now, std::string_view key);
  void judge_acquire(Time now, ClaimId id, Claim& claim);
  bool fence_decided(ClaimId id);
  void win(Time now, ClaimId id);
  void settle(Time now, ClaimId id);
  void on_waiter_due(Time now, WaiterId id);
  void refuse(WaiterId id, Errc why, const Tally& tally,
              std::optional<std::uint64_t> unsent_before = {});

  // admit.cpp: queueing first attempts
  void admit(Time now, WaiterId id);
  const Output* next_of_queued();
  void begin(Time now, WaiterId id);
  void refuse_unsent(WaiterId id);

  // queue.cpp: waiting in the line
  bool wait_in_line(Time now, WaiterId id);
  void enter(Time now, WaiterId id);
  void lost_in_line(Time now, ClaimId id);
  void maybe_try(Time now, WaiterId id);
  void hear(Time now, WaiterId id, int node, const Place& place);
  void look_sooner(Time now, Waiter& waiter, const Place& place);
  void on_line_due(Time now, WaiterId id);
  void wake(Time now, int node, std::uint64_t place, int slot);
  void heard_in_line(Time now, int node, const Claim& claim, const Answer& answer);
  void schedule_in_line(WaiterId id);
  void refresh(Time now);
  void send_entries(const std::vector<WaiterId>& waiters, NodeSet to);
  void send_batch(SlotId id, NodeSet to, bool with_source);
  void leave(Time now, const Waiter& waiter);
  void leave(Time now, ClaimId id);
  void leave_where_refused(Time now, const Claim& claim);
  void drop_place(Waiter& waiter);
  Line& line_of(std::string_view key);
  WaiterId heir_of(Time now, const Claim& claim);
  [[nodiscard]] std::uint64_t ticket_clock(Time now) const;

  // watch.cpp: waiting in no order
  bool enters_late(Time now, WaiterId id);
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
  [[nodiscard]] static Time patient_until_of(Time now, const Claim& claim);
  [[nodiscard]] static bool confirms_in_another_round(const Claim& claim);
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
  void judge_release(Time now, ClaimId id);
  void on_releasing_due(Time now, ClaimId id);
  void forget_if_done(Time now, ClaimId id);
  void note_answer(Time now, Claim& claim, int node, const Tag& tag, const Answer& answer);

  // stats.cpp
  void note_win(const Claim& claim, const Waiter& waiter);
  void note_refusal(const Waiter& waiter, Errc why);
  void note_renewal(const Claim& claim, bool won);
  void note_vote(Vote vote) { ++stats_.votes[static_cast<std::size_t>(vote)]; }

  // clocks.cpp: the nodes' clocks and ours
  Vote watch_clock(Time now, int node, const Answer& answer);
  void mistrust(Time now, int node, Duration beyond);
  bool wants_again(Time now, int node, const Claim& claim, const Tag& tag, const Answer& answer);
  void own_clock_stood(Time now, NodeSet ahead, Duration beyond);
  /// The nodes to ask for votes; ends the mistrust of nodes whose time is over.
  NodeSet voters(Time now);

  // engine.cpp
  ClaimId new_claim(std::string_view key, std::string_view token);
  void open_round(Time now, Claim& claim, Duration ttl);
  void send_round(ClaimId id, CommandKind kind, NodeSet to);
  void judge(Time now, ClaimId id, Claim& claim);
  std::uint64_t apart(Ballot& ballot);
  void count(Claim& claim, int node, CommandKind kind, Vote vote, std::uint64_t fence);
  /// The greatest fencing counter seen for any of the waiter's keys.
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

  /// The least pause, whatever the options say, before a failed renewal is tried again, and after
  /// an attempt that found no quorum, which may have been lost at once.
  static constexpr Duration shortest_pause = std::chrono::milliseconds(2);

  Config config_;
  Random& random_;
  NodeSet takes_requests_;  ///< nodes that are connecting or up
  NodeSet takes_releases_;  ///< nodes that are not down
  std::vector<Vote> unavailable_because_;
  ClockWatch clocks_;
  NodeSet mistrusted_;    ///< nodes with a wrong clock, until mistrusted_until_
  NodeSet merely_ahead_;  ///< those of them that were only ever found ahead
  std::array<Time, max_nodes> mistrusted_until_{};
  FenceMemory fences_seen_;
  Slots<Ballot> ballots_;
  Claims claims_;
  Slots<Waiter> waiters_;
  Admission admission_;
  std::string process_;  // 16 hexadecimal digits, drawn when first needed
  std::map<std::string, Line, std::less<>> lines_;
  std::unordered_map<std::uint64_t, WaiterId> places_;
  std::uint64_t last_place_ = 0;
  std::map<std::string, Watch, std::less<>> watches_;
  Recently waited_for_;                 ///< keys that nodes have reported waiters for
  Crowds crowds_;                       ///< of unordered waiters
  std::array<OwnSlots, 64> own_slots_;  ///< by the semaphore's hash
  Slots<Batch> batches_;
  std::optional<std::int64_t> clock_ahead_;  // the most that a node's clock was ahead, in us
  Time refresh_at_ = never;
  TimerQueue claim_timers_;
  TimerQueue waiter_timers_;
  int held_ = 0;
  int renewals_out_ = 0;  // renew rounds of leases that have no verdict yet
  Stats stats_;
  Time now_{};  ///< the time of the current input
  Cause cause_ = Cause::look;
  int unanswered_ = 0;
  std::vector<Output> outputs_;
  std::size_t next_output_ = 0;
};

}  // namespace quorumlock::core
