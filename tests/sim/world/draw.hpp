#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.hpp"
#include "sim/wall_clock.hpp"

namespace quorumlock::sim {

/// What may go wrong. Those of the first kind are what the protocol is made for; the others break
/// an assumption, and with it some of the promises.
enum class Fault {
  // Within the assumptions.
  crash,           ///< a node is killed and comes back, with what was on its disk
  pause_node,      ///< SIGSTOP, SIGCONT
  pause_client,    ///< likewise, or its machine sleeps
  reset,           ///< a connection breaks; what is under way may still arrive
  partition,       ///< a client and a node don't hear of each other, in one direction or both
  delay,           ///< messages take long, up to hours
  flush,           ///< FLUSHALL
  refuse,          ///< OOM, READONLY, MISCONF, LOADING or BUSY for a while
  forget_scripts,  ///< SCRIPT FLUSH
  fail_over,       ///< a volatile node is replaced by an older copy of it
  client_crash,    ///< a client ends without a word, and a new one begins
  // Beyond them.
  clock_step,  ///< a node's clock jumps
  clock_rate,  ///< a node's clock runs beyond the bound
  evict,       ///< a node drops a key
  drop_lock,   ///< a node drops a lock's key, and never a counter
};
inline constexpr int fault_kinds = static_cast<int>(Fault::drop_lock) + 1;
std::string_view to_string(Fault fault);

/// What a seed is after. Half of them draw everything from everywhere; the others make one kind of
/// trouble likely that would else take millions of them.
enum class Focus {
  everything,
  fences,      ///< counters disagree and collide, keys vanish, raises are late
  order,       ///< likewise, but no key vanishes: tokens grow in the order of holding
  forgetting,  ///< nodes forget just after they have voted
  lateness,    ///< messages take about as long as a lock lives
  clocks,      ///< at the bound on both sides, and the next one is there the moment a lock ends
  giving_up,   ///< waits end in the middle of a round, and no connection breaks
  raises,      ///< raises are held up, and lost after others were acknowledged
  relapses,    ///< nodes forget just after a vote, while clients lose sight of others
  line,        ///< many wait in the line, and often nothing goes wrong
  sets,        ///< likewise, for one, two or three of three locks
  readers,     ///< many read, some write
  permits,     ///< of a semaphore, in the line and out of it
  pieces,      ///< requests arrive in pieces, between which others take the lock, or nodes forget
};
inline constexpr int focuses = static_cast<int>(Focus::pieces) + 1;
/// Those behind have one seed in 64 each, so that the others keep theirs; they take long.
inline constexpr int first_focuses = static_cast<int>(Focus::line) + 1;
std::string_view to_string(Focus focus);

/// All that the seed decides before the simulation begins. A failure is made smaller by taking
/// things out of this.
struct Draw {
  std::uint64_t seed = 1;
  Focus focus = Focus::everything;
  int nodes = 3;
  int clients = 3;
  int keys = 1;
  bool fencing = true;
  bool durable = false;
  bool sane_wall_clocks = true;  ///< else the clients' stand still near 1970
  bool clocks_at_the_bound = false;
  bool nodes_agree = true;    ///< on the time; else they are up to 20 s apart, and drift
  bool low_counters = false;  ///< they start at a few, another on each node: as if in use already
  bool uneven_paths = false;  ///< each path between a client and a node is as slow as it likes
  bool faults_follow_wins = false;    ///< a lock that is won often brings a fault with it
  bool faults_follow_votes = false;   ///< so does a vote: the node forgets (flush, crash)
  bool faults_follow_raises = false;  ///< so does a raise: it is late (delay), or lost (reset)
  /// So does a request for a key that another has: it arrives as that runs out, and its owner does
  /// not see that node until then (partition).
  bool faults_follow_rivals = false;
  bool rivals_watch = false;  ///< all ask when a node has forgotten, and when it votes again
  bool blind_spots = false;   ///< each client loses sight of one node after the other (partition)
  bool one_ahead = false;     ///< the counters of one node begin far above the others'
  bool late_comer = false;    ///< the last client asks for nothing until max_ttl is long past
  int in_order = 0;           ///< of a hundred waits so many are in the line
  int sets = 0;               ///< of a hundred requests so many are for several keys
  int capacity = 0;           ///< the lock is a semaphore with so many permits; 0: is none
  bool capacities_differ = false;  ///< every other client believes in one more
  core::Duration entry_life{};     ///< in a line, unless it is refreshed
  int to_read = 0;                 ///< of a hundred locks so many are shared
  int at_once = 1;  ///< a client asks for so many in one turn, and gives back all that it has
  bool in_pieces = false;  ///< what is written at once often arrives in two pieces
  bool wakes = true;       ///< else releases wake nobody, and are what each node has for that
  core::Duration ttl{};
  core::Duration max_ttl{};
  core::Duration delay{};         ///< of a message, about
  core::Duration hold{};          ///< of a lock, about
  core::Duration every{};         ///< so often a client asks for one, about
  core::Duration pause{};         ///< before the next attempt, about
  core::Duration node_timeout{};  ///< as the option of that name
  core::Duration until{};         ///< true time of the faults' end
  core::Duration between_faults{};
  std::vector<Fault> faults;

  /// With this focus, or the one that the seed draws.
  static Draw of(std::uint64_t seed, std::optional<Focus> focus = {});
  /// What to_string() has said; nothing where it is something else.
  static std::optional<Draw> parse(std::string_view text);
  [[nodiscard]] bool has(Fault fault) const {
    return std::ranges::find(faults, fault) != faults.end();
  }
  /// No clock steps or runs beyond the bound, and no node drops keys unnoticed.
  [[nodiscard]] bool timing_holds() const {
    // Without fencing a plain SET does not look at the enrolment: FLUSHALL is then noticed late.
    if (!fencing && has(Fault::flush)) return false;
    return !has(Fault::clock_step) && !has(Fault::clock_rate) && !has(Fault::evict) &&
           !has(Fault::drop_lock);
  }
  /// Nothing goes wrong, and nobody takes the lock without a look at the line.
  [[nodiscard]] bool order_holds() const {
    // Where a few messages take as long as a lock lives, attempts fail of their deadline alone.
    return faults.empty() && fencing && focus != Focus::pieces && ttl >= 40 * delay &&
           !capacities_differ;
  }
  /// No counter is lost unnoticed.
  [[nodiscard]] bool counters_hold() const;
  /// Its spans to whole microseconds: no finer than parse() reads them.
  void round();
  /// Every option, as `name=value` words.
  [[nodiscard]] std::string to_string() const;
};

}  // namespace quorumlock::sim
