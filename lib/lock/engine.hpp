#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lock/acquisitions.hpp"
#include "lock/answer.hpp"
#include "lock/cleanup.hpp"
#include "lock/exchange.hpp"
#include "lock/leases.hpp"
#include "wait/permits.hpp"

namespace quorumlock::core {

/// All locks of one coordinator, as one state machine. The engine passes each input to the machine
/// that decides: Acquisitions, Leases or Cleanup, each for the claims in its phase.
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
  using Config = core::Config;

  Engine(const Config& config, Random& random);
  Engine(const Engine&) = delete;  // its machines know each other by reference
  Engine& operator=(const Engine&) = delete;

  // Inputs. Each costs O(nodes + log(claims)) unless stated otherwise. on_link, and an answer that
  // shows a wrong clock, cost O(claims + waiters).

  void acquire(Time now, const AcquireRequest& request, WaiterId* id = nullptr);
  /// Ends the wait with this reason at once; its attempt is released in the background.
  void cancel(Time now, WaiterId waiter, Errc why);
  /// Gives the claim of an Acquired to this user.
  void adopt(ClaimId claim, UserId user);
  /// Starts one renew round at once for the user. Returns false if the user has one under way
  /// already, or the claim is gone.
  bool extend(Time now, ClaimId claim, Duration ttl);
  /// Extends, and makes a writer a reader: others may read, and nobody has written in between.
  bool downgrade(Time now, ClaimId claim);
  /// Ends a lease; if `report`, Released brings the verdict. Returns false if the lease has ended
  /// already.
  bool release(Time now, ClaimId claim, bool report);
  /// Stops renewing the lease; nothing is deleted at its end.
  void detach(Time now, ClaimId claim);
  /// Drops a detached lease, whose keys run out by themselves.
  void forget(Time now, ClaimId claim);
  /// Ends a lease as expired, because its user has seen it expire.
  void abandon(Time now, ClaimId claim);
  /// Extends this token under all of these keys, whoever holds it. Reported as Extended.
  void extend_token(Time now, std::string_view key, OtherKeys others, std::string_view token,
                    Duration ttl, UserId user);
  /// Releases this token under all of these keys, whoever holds it. Reported as Released.
  void release_token(Time now, std::string_view key, OtherKeys others, std::string_view token,
                     UserId user);
  /// Ends every wait with Errc::closed and releases every lease (reported as Ended). Releases under
  /// way, and extends and releases by token, go on. O(claims).
  void close(Time now);

  /// Adds a node, which is connecting, to the list. Its number is a new one, or that of a removed
  /// node whose answers have all come in. O(claims + waiters).
  void add_node(Time now, int node);
  /// Removes a node from the list: our keys and entries on it run out by themselves. O(claims +
  /// waiters).
  void remove_node(Time now, int node);
  /// Lets the rounds under way go on with the next list, once its nodes have been added, and the
  /// others removed. O(claims).
  void on_new_list();
  /// The nodes are of another founding than was known: no votes of before count. O(claims).
  void on_new_founding();
  /// The numbers of the nodes of the list.
  [[nodiscard]] NodeSet nodes() const { return exchange_.nodes.all(); }
  /// Begins a round that is not the engine's own, whose votes count as those for a lock.
  void open(Tally& tally) const { tally.begin(nodes(), exchange_.nodes.majority()); }
  /// Counts a node's vote in such a round.
  void count(Time now, Tally& tally, int node, Vote vote) {
    tally.record(node, exchange_.nodes.counted(now, node, vote), exchange_.nodes.asks(node));
  }
  [[nodiscard]] bool holds_leases() const { return leases_.held() > 0; }
  void on_link(Time now, int node, LinkState state, Vote reason);
  /// Notes what a node's record asks for: see Nodes. Call it before the node is reported to take
  /// requests.
  void on_list(int node, const Nodes::Record& record) { exchange_.nodes.on_list(node, record); }
  /// The terms of our list are known, or have changed: see Config. Votes of rounds under way stay
  /// only if they count by the records as they are now. O(claims).
  void on_terms(Time now, Duration max_ttl, Duration fencing_memory);
  /// See Nodes.
  [[nodiscard]] Duration max_ttl() const { return exchange_.nodes.max_ttl(); }
  /// Takes the final answer to a command; Vote::disconnected and ::unreachable are answers too.
  void on_answer(Time now, int node, Tag tag, const Answer& answer);
  /// Takes the answer to a SendEntries, sent at `asked`: a place for each entry, or none, and then
  /// `vote` says why.
  void on_places(Time now, int node, Tag tag, Vote vote, std::span<const Place> places,
                 Time asked = {});
  /// Takes the node's message that this waiter is first in its line, and that the lock, or this
  /// slot of the semaphore, is free.
  void on_wake(Time now, int node, std::uint64_t waiter, int slot = 0);
  /// A node has begun to send messages; earlier ones may have been lost.
  void on_listening(Time now);
  /// The node is late and counts as not voting for now; the final answer still follows.
  void on_timeout(Time now, int node, Tag tag);
  /// Takes the time of the node's clock, which a command that is not the engine's read between
  /// `asked` and `now`.
  void on_clock(Time now, int node, Time asked, std::int64_t node_time);
  /// See Nodes.
  void set_wall(std::int64_t ahead_us) { exchange_.nodes.set_wall(ahead_us); }
  /// Does what is due by `now`; the other inputs begin with this.
  void advance(Time now) {
    exchange_.now = now;
    if (deadline() <= now) do_due(now);
  }

  // Outputs.

  /// The next output, or null. It is valid until the next call of this or the next input.
  const Output* next() { return exchange_.next(); }
  /// Sends some of what is queued, if there is room for it. Returns whether there are outputs. To
  /// be called when all inputs that have come are taken: then what may go out together does.
  bool send_queued() {
    if (exchange_.admission.empty()) return false;
    send_what_has_room();
    return has_outputs();
  }
  [[nodiscard]] bool has_outputs() const { return exchange_.has_outputs(); }
  /// The latest time for the next call of advance(); `never` if no time matters.
  [[nodiscard]] Time deadline() const {
    return std::min(exchange_.timers.next(), acquisitions_.deadline());
  }

  /// Returns null once the claim is forgotten. The pointer is valid until the next input.
  const Claim* claim(ClaimId id) { return exchange_.claims.find(id); }
  /// See Claims::reuse.
  void reuse(KeyAndToken names) { exchange_.claims.reuse(std::move(names)); }
  [[nodiscard]] const Config& config() const { return exchange_.config; }
  /// The waiter's entry in the line, for tests: its number, zero for none, and its ticket, zero
  /// until the ticket is settled.
  std::pair<std::uint64_t, std::uint64_t> place_of(WaiterId id);
  /// The prefix of our waiters' numbers on the nodes; empty until the first waiter enters a line.
  [[nodiscard]] const std::string& process() const { return exchange_.process; }
  [[nodiscard]] std::optional<ClockWatch::Drift> clock_drift(int node) const {
    return exchange_.nodes.clocks().drift(node);
  }
  /// The least that the node's own clock can show, in us since 1970, if drift_factor leaves that
  /// uncertain by no more than a quarter of `left`; else zero.
  [[nodiscard]] std::int64_t clock_of(Time now, int node, Duration left) const {
    return exchange_.nodes.clocks().at_least(now, node, left / 4);
  }
  /// See Nodes.
  [[nodiscard]] int least_that_knows() const { return exchange_.nodes.least_that_knows(); }
  /// The statistics, without Stats::oldest_wait and the nodes' names: Stats::nodes is by number.
  [[nodiscard]] Stats stats(Time now);
  /// When the oldest acquisition without an answer began; `never` if there is none.
  [[nodiscard]] Time waiting_since() { return acquisitions_.waiters().since(); }
  /// Returns true while there is a waiter, a lease or an unanswered command.
  [[nodiscard]] bool busy() const {
    return acquisitions_.waiters().all.used() > 0 || leases_.held() > 0 || unanswered() > 0;
  }
  /// The number of commands whose final answer has not arrived.
  [[nodiscard]] int unanswered() const { return exchange_.unanswered(); }

 private:
  void do_due(Time now);
  void send_what_has_room();
  void on_claim_due(Time now, ClaimId id);
  void judge(Time now, ClaimId id, Claim& claim);
  bool repeats(Time now, int node, Tag tag, const Answer& answer);
  void count(Time now, Claim& claim, Ballot::Said answer);
  void settle_doubts(Time now, Claim& claim);
  void read_clock(Time now, int node, Time asked, std::int64_t node_time);
  void void_votes(Time now, int node);
  void void_all_votes(Time now);

  Exchange exchange_;
  Permits permits_;
  Cleanup cleanup_;
  Leases leases_;
  Acquisitions acquisitions_;
};

}  // namespace quorumlock::core
