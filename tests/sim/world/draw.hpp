#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/types.hpp"
#include "sim/wall_clock.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::test {
class SeededRandom;
}

namespace quorumlock::sim {

/// The things that may go wrong. The protocol is made for faults of the first kind. A fault of the
/// second kind breaks an assumption, and with it some of the promises.
enum class Fault {
  // Faults within the assumptions.
  crash,           ///< a node is killed and comes back, with what was on its disk
  pause_node,      ///< SIGSTOP, SIGCONT
  pause_client,    ///< SIGSTOP, SIGCONT, or the client's machine sleeps
  reset,           ///< a connection breaks; what is under way may still arrive
  partition,       ///< a client and a node cannot reach each other, in one direction or both
  delay,           ///< messages take long, up to hours
  flush,           ///< FLUSHALL
  refuse,          ///< OOM, READONLY, MISCONF, LOADING or BUSY for a while
  forget_scripts,  ///< SCRIPT FLUSH
  fail_over,       ///< a volatile node is replaced by an older copy of it
  client_crash,    ///< a client's process is killed, and a new one begins
  // Faults beyond the assumptions.
  clock_step,   ///< a node's clock jumps
  clock_rate,   ///< a node's clock runs beyond the bound
  evict,        ///< a node drops a key
  drop_lock,    ///< a node drops a lock's key, and never a counter
  stand_still,  ///< a client's machine stands still, and its clock with it
  // Faults of nodes with a disk, again within the assumptions: only some focuses draw these.
  stop_writing,     ///< a node's file is switched off, and a later restart starts from that file
  copy_directory,   ///< a node's directory is lost, and replaced by a copy of another node's
  promote_replica,  ///< a node is lost, and a replica of it takes its place
  follow_another,   ///< a node follows another by mistake, and is promoted again
  fail_back,        ///< a node loses its place to a replica of its own, and gets it back
  operators_away,   ///< no client that may enrol nodes reaches any of them for a while
  forge,            ///< somebody makes up a record on the last node, which says it to everybody
  make_up,          ///< somebody makes up a counter, or a floor for counters, on the last node
};
inline constexpr int fault_kinds = static_cast<int>(Fault::make_up) + 1;
std::string_view to_string(Fault fault);

/// The kind of trouble that a seed concentrates on. About half of the seeds draw everything from
/// the full ranges; the others make one kind of trouble likely that would otherwise take millions
/// of seeds.
enum class Focus {
  everything,
  fences,       ///< counters disagree and collide, keys vanish, raises are late
  order,        ///< the same without vanishing keys: tokens grow in the order of holding
  forgetting,   ///< nodes forget just after they have voted
  lateness,     ///< messages take about as long as a lock lives
  clocks,       ///< rates at both bounds, and a rival that asks the moment a lock ends
  giving_up,    ///< waits end in the middle of a round, and no connection breaks
  raises,       ///< raises are held up, and lost after others were acknowledged
  relapses,     ///< nodes forget just after a vote, while clients lose sight of others
  line,         ///< many wait in the line, and often nothing goes wrong
  sets,         ///< many wait in the line for one, two or three of three locks
  readers,      ///< many read, some write
  permits,      ///< permits of a semaphore, in the line and out of it
  pieces,       ///< requests arrive in pieces, between which others take the lock, or nodes forget
  silence,      ///< nodes fall silent in mid-round, always too few to stop a quorum
  tokens,       ///< extends by token of leases that nodes dropped, others held, renewals set again
  standstills,  ///< clients' clocks stand still
  disks,        ///< durable nodes fail over, are copied, or stop writing their file
  tenants,      ///< some clients may not enrol nodes, nor touch one lock's keys; nodes forget
  idleness,     ///< something on the path forgets idle connections
  members,      ///< the list of nodes changes, and differs from client to client
  replacing,    ///< a node is replaced, and nodes forget just after a step
  shrinking,    ///< nodes leave the list, and others forget just after a step
  in_a_row,     ///< one change of the list follows another at once
  forks,        ///< two operators change the list at once, each to a different one
  founding,     ///< all nodes forget, and clients with different lists found these lists anew
  traps,        ///< events are arranged so that one certain mistake does harm
  unfenced,     ///< the list of nodes changes, and locks are plain SETs, which compare no record
  hand_overs,   ///< locks that many wait for are given back at once, and the nodes are slow
  stale_sources,  ///< an idle client repairs a node from one that forgot; its questions are late
  short_lives,    ///< clients live for less than max_ttl, and nodes boot with a wrong clock
  databases,      ///< some clients select another database of one server
  periods,        ///< holders do work once per period, and nodes, clients and records are lost
  forgeries,      ///< one node has a list, a counter or a floor that somebody has made up
  terms,          ///< operators change max_ttl and fencing_memory, and nodes forget meanwhile
  redeployments,  ///< the list changes and clients follow, nothing goes wrong, no lease is lost
};
inline constexpr int focuses = static_cast<int>(Focus::redeployments) + 1;
/// Each of the later focuses has one seed in 64, so that the earlier ones keep their seeds. The
/// later ones take long.
inline constexpr int first_focuses = static_cast<int>(Focus::line) + 1;
/// The names, in the same order.
inline constexpr std::string_view focus_names[] = {
    "everything",  "fences",    "order",    "forgetting", "lateness",    "clocks",
    "giving_up",   "raises",    "relapses", "line",       "sets",        "readers",
    "permits",     "pieces",    "silence",  "tokens",     "standstills", "disks",
    "tenants",     "idleness",  "members",  "replacing",  "shrinking",   "in_a_row",
    "forks",       "founding",  "traps",    "unfenced",   "hand_overs",  "stale_sources",
    "short_lives", "databases", "periods",  "forgeries",  "terms",       "redeployments"};
static_assert(std::size(focus_names) == focuses);
inline std::string_view to_string(Focus focus) {
  return focus_names[static_cast<std::size_t>(focus)];
}

/// The steps of a change of the list of nodes.
enum class Step { announced, committed, settled };
inline constexpr int step_kinds = static_cast<int>(Step::settled) + 1;
std::string_view to_string(Step step);

/// All that the seed decides before the simulation begins. Shrinking a failure removes things from
/// its draw.
struct Draw {
  std::uint64_t seed = 1;
  Focus focus = Focus::everything;
  int nodes = 3;
  int spares = 0;     ///< servers that are in no list at first
  int operators = 0;  ///< the number of operators at one time
  int clients = 3;
  int keys = 1;
  bool fencing = true;
  bool durable = false;
  bool sane_wall_clocks = true;  ///< otherwise the clients' wall clocks stand still near 1970
  bool clocks_at_the_bound = false;
  bool nodes_agree = true;  ///< the nodes' clocks agree; else they are up to 20 s apart and drift
  bool low_counters =
      false;  ///< counters start at numbers close to each other: as if already in use
  bool uneven_paths = false;          ///< each path between a client and a node draws its own speed
  bool faults_follow_wins = false;    ///< a win often triggers a fault
  bool faults_follow_votes = false;   ///< a vote often makes its node forget (flush, crash)
  bool faults_follow_raises = false;  ///< a raise is often late (delay) or lost (reset)
  /// A request for another client's key often arrives just as that key expires, and the key's owner
  /// does not see the node until then (partition).
  bool faults_follow_rivals = false;
  bool rivals_watch =
      false;                 ///< all clients ask when a node has forgotten, and when it votes again
  bool blind_spots = false;  ///< each client loses sight of one node after another (partition)
  bool one_ahead = false;    ///< the counters of one node begin far above the others'
  bool silences = false;     ///< see Focus::silence
  bool short_lives = false;  ///< see ShortLives
  bool periods = false;      ///< see Periods
  /// Operators change max_ttl to this one, which is shorter, and back; zero: they do not. Likewise
  /// fencing_memory.
  core::Duration other_max_ttl{};
  core::Duration memory = std::chrono::hours(24), other_memory = std::chrono::hours(24);
  bool begins_other = false;       ///< the first list has the others of these
  bool stale_source = false;       ///< see StaleSource
  bool late_comer = false;         ///< the last client asks for nothing until long after max_ttl
  int in_order = 0;                ///< percentage of waits that are in the line
  int sets = 0;                    ///< percentage of requests that are for several keys
  int capacity = 0;                ///< permits of the semaphore; 0: the lock is not a semaphore
  bool capacities_differ = false;  ///< every other client has a capacity of one permit more
  core::Duration entry_life{};     ///< the life of an entry in a line, unless it is refreshed
  int to_read = 0;                 ///< percentage of locks that are shared
  int by_token = 0;    ///< percentage of chances at which another process extends a lease's token
  int at_once = 1;     ///< requests of a client in one turn; it then gives back all that it has
  int window = 6400;   ///< the most commands that a client has under way to one node
  int crowd = 0;       ///< how many wait when a client gives all its locks back at once
  int crowd_keys = 1;  ///< how many locks these are
  core::Duration service{};      ///< how long a node then takes for each command
  bool in_pieces = false;        ///< a single write often arrives in two pieces
  bool forgetful_paths = false;  ///< a connection that was idle for 12 s carries nothing any more
  /// Every other client may not write the keys of the nodes, nor touch those of the lock "other".
  bool tenants = false;
  bool other_databases = false;   ///< every other client selects another database of the first node
  bool begins_announced = false;  ///< the first list of the plan is announced from the beginning
  bool odd_counter = false;       ///< one node's counter of a lock that nobody uses is not a number
  core::Duration ttl{};
  core::Duration max_ttl{};
  core::Duration delay{};         ///< about how long a message takes
  core::Duration hold{};          ///< about how long a lock is held
  core::Duration every{};         ///< about the time between a client's requests
  core::Duration pause{};         ///< about how long a client waits before its next attempt
  core::Duration node_timeout{};  ///< the option of that name
  core::Duration until{};         ///< true time at which the faults end
  core::Duration between_faults{};
  core::Duration between_changes{};  ///< about the time before an operator begins
  core::Duration between_looks{};    ///< about the time between an operator's looks at the nodes
  /// The lists that operators want, one after the other, and then the first one again; if there are
  /// two operators, each wants a different one. A list is a word of the numbers of its nodes, such
  /// as "124". If empty, lists are drawn.
  std::vector<std::string> plan;
  /// The numbers of nodes that an operator mostly does not reach. If there is a plan for two
  /// operators, the second one mostly reaches only these nodes.
  std::string deaf;
  Step told = Step::announced;           ///< the step after which clients are given the new list
  Step forgets_after = Step::announced;  ///< the step that faults follow
  bool faults_follow_steps = false;      ///< that step often makes its node forget (flush, crash)
  bool careful = false;  ///< operators miss nothing, and wait until all clients have the new list
  bool lists_differ = false;    ///< some clients have another list from the beginning to the end
  bool blind_for_good = false;  ///< some clients do not see one of the nodes until everything heals
  bool lists_follow_requests = false;  ///< a client is often given another list while it asks
  bool all_forget = false;             ///< all nodes forget at once, now and then
  /// If this is not empty, only the nodes with these numbers forget, and each time all of them.
  std::string forgetters;
  /// The first step that nodes in `deaf` do not hear of. If it is a later step than `announced`,
  /// operators see these nodes when they look.
  Step deaf_from = Step::announced;
  bool deaf_for_good = false;  ///< nodes in `deaf` are never reached, and the others always are
  /// The list that each client has from the beginning to the end, one digit for each client: 0 is
  /// the first list, and 1 the first list of the plan. A client without a digit, or with "-", is
  /// given other lists.
  std::string lists;
  /// The node that each client never sees, one digit for each client; 0: the client sees all nodes.
  /// If all nodes forget now and then, the client instead does not see its node for about max_ttl
  /// after each of these times.
  std::string blind;
  core::Duration forgets_in{};       ///< about how long after a step a node forgets, if not soon
  bool moves_at_commit = false;      ///< the first client moves to the new list amid a commit
  bool faults_follow_looks = false;  ///< a candidate whose wait is seen to be over is often lost
  std::vector<Fault> faults;

  /// The draw of this seed, with this focus or the one that the seed draws.
  static Draw of(std::uint64_t seed, std::optional<Focus> focus = {});
  /// Reads the text of to_string(). Returns nothing if the text is anything else.
  static std::optional<Draw> parse(std::string_view text);
  [[nodiscard]] bool has(Fault fault) const {
    return std::ranges::find(faults, fault) != faults.end();
  }
  [[nodiscard]] int servers() const { return nodes + spares; }
  /// Whether the list of nodes changes, or is not the same for all clients.
  [[nodiscard]] bool lists_change() const { return operators > 0 || !plan.empty(); }
  /// The mode in which clients ask for the lock that most of them want, and its key.
  [[nodiscard]] LockMode mode(bool reads) const {
    return reads ? LockMode::shared : LockMode::exclusive;
  }
  [[nodiscard]] std::string lock() const {
    const core::LockSet asked{"lock", {}, mode(false), false, {.capacity = capacity}};
    return std::string(redis::kind_prefix(asked)).append(asked.first);
  }
  /// Whether no clock steps or runs beyond the bound, and no node drops keys unnoticed.
  [[nodiscard]] bool timing_holds() const {
    // Without fencing a plain SET does not look at the enrolment: FLUSHALL is then noticed late.
    if (!fencing && has(Fault::flush)) return false;
    return node_clocks_hold() && !has(Fault::evict) && !has(Fault::drop_lock) &&
           !has(Fault::stand_still);
  }
  /// Whether no node's clock steps or runs beyond the bound.
  [[nodiscard]] bool node_clocks_hold() const {
    return !has(Fault::clock_step) && !has(Fault::clock_rate);
  }
  /// Whether nothing goes wrong, and no client takes the lock without looking at the line.
  [[nodiscard]] bool order_holds() const {
    // If a few messages take as long as a lock lives, attempts fail by their deadline alone.
    return faults.empty() && fencing && !lists_change() && focus != Focus::pieces && !silences &&
           !forgetful_paths && ttl >= 40 * delay && !capacities_differ && crowd == 0;
  }
  /// Whether only one lock is asked for at a time, so that it is clear how long that may take.
  [[nodiscard]] bool alone() const { return silences || (forgetful_paths && clients == 1); }
  /// Whether this client may not touch the keys of the lock "other".
  [[nodiscard]] bool is_stranger(std::size_t client) const { return tenants && client % 2 == 1; }
  /// The longest that anything may take if a quorum can decide it; see Focus::silence.
  [[nodiscard]] TrueTime promptly() const;
  /// About how long a message takes once everything has healed.
  [[nodiscard]] TrueTime message_when_well() const {
    return std::min({delay, ttl / 100, node_timeout / 20});
  }
  /// How long a key of a lock or a line lives after it was written last, and some time more.
  /// Entries live for up to ten times as long if nodes are slow, and the keys of a line twice as
  /// long.
  [[nodiscard]] TrueTime keys_live() const {
    return std::max(max_ttl, 20 * entry_life) * 11 / 10 + std::chrono::seconds(1);
  }
  /// Whether a node may go on with data that is not its own, or with a part of its data.
  [[nodiscard]] bool swaps_disks() const {
    return has(Fault::stop_writing) || has(Fault::copy_directory) || has(Fault::promote_replica) ||
           has(Fault::follow_another) || has(Fault::fail_back);
  }
  /// Whether no counter is lost unnoticed.
  [[nodiscard]] bool counters_hold() const;
  /// Rounds the spans to whole microseconds, the precision of parse().
  void round();
  /// Every option, as `name=value` words.
  [[nodiscard]] std::string to_string() const;
};

/// Draws the options of Focus::silence.
void draw_silence(Draw& draw, test::SeededRandom& random);
/// Draws the options of Focus::idleness.
void draw_idleness(Draw& draw, test::SeededRandom& random);
// draw_leases.cpp
void draw_tokens(Draw& draw, test::SeededRandom& random);
void draw_standstills(Draw& draw, test::SeededRandom& random);
/// Adds tokens and standstills to a draw from the full ranges. Called last, so that the rest of the
/// draw stays as it was.
void draw_more(Draw& draw, test::SeededRandom& random);
/// Draws the options of Focus::members.
void draw_members(Draw& draw, test::SeededRandom& random);
// draw_plans.cpp
void draw_replacing(Draw& draw, test::SeededRandom& random);
void draw_shrinking(Draw& draw, test::SeededRandom& random);
void draw_in_a_row(Draw& draw, test::SeededRandom& random);
void draw_forks(Draw& draw, test::SeededRandom& random);
void draw_founding(Draw& draw, test::SeededRandom& random);
void draw_unfenced(Draw& draw, test::SeededRandom& random);
void draw_terms(Draw& draw, test::SeededRandom& random);
void draw_redeployments(Draw& draw, test::SeededRandom& random);
/// Draws the options that all draws about a certain change share, with these nodes, spare servers
/// and lists.
void draw_a_change(Draw& draw, test::SeededRandom& random, int nodes, int spares,
                   std::vector<std::string> plan);
// draw_traps.cpp
void draw_traps(Draw& draw, test::SeededRandom& random);
/// Draws the options of Focus::permits.
void draw_permits(Draw& draw, test::SeededRandom& random);
/// Draws the options of Focus::hand_overs.
void draw_hand_overs(Draw& draw, test::SeededRandom& random);
// draw_waits.cpp
void draw_stale_sources(Draw& draw, test::SeededRandom& random);
void draw_short_lives(Draw& draw, test::SeededRandom& random);
/// Draws holders that do work once per period.
void draw_periods(Draw& draw, test::SeededRandom& random);
/// Draws the options of Focus::disks.
void draw_disks(Draw& draw, test::SeededRandom& random);
/// Draws clients of which some may not enrol nodes, and nodes that forget just after a vote.
Draw draw_tenants(test::SeededRandom& random);
/// Draws a node on which somebody makes up records.
void draw_forgeries(Draw& draw, test::SeededRandom& random);
/// Draws clients of which some select another database of one node.
void draw_databases(Draw& draw, test::SeededRandom& random);

}  // namespace quorumlock::sim
