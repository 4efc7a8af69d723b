#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lock/claim.hpp"
#include "members/membership.hpp"
#include "wire/reply.hpp"

namespace quorumlock::detail {

class Session;

/// Raises the fencing counters of a node that forgot, as far as needed before it votes again, and
/// the numbers of the last periods that are done (Coordinator::once), by the same argument.
///
/// A token that was decided with this node's vote is on at least q - 1 other nodes. So the greatest
/// counter on N - q + 1 others is at least every such token: each counter of the nodes that vouch
/// for this one (see redis::Electorate) is copied if it is greater, a few hundred at a time (SCAN,
/// MGET, repair.lua), while locking goes on. A few of these calls are under way at a time, and none
/// keeps a server busy for long. Tokens that are decided meanwhile do not need this node: their
/// quorum and a later one with it share another node. Those others may have tokens not as counters
/// but as a floor: copying the greatest floor, too, covers these.
///
/// The order of tokens rests on clocks instead if fewer others vote, or if a counter is not a
/// number: the floor is then above the clocks of all reachable nodes and above every counter that
/// was read. If this user may not read or write some counters, another client has to enrol the
/// node.
///
/// A counter that no clock explains is copied only if as many nodes as cannot all be wrong have one
/// as great (core::Ballot says why). To find out, more nodes that vouch are read. One that has such
/// a counter alone, or such a floor, is no source; if too few others vouch, the node has to wait.
///
/// A source must not have forgotten anything while it is read. A record stands for one enrolment,
/// so the record of each source is noted before its counters are read, and compared after that; a
/// record that the link has read meanwhile does not count. One node is repaired at a time; the
/// others wait.
/// The repairer's mark on the node is refreshed for as long as the repair takes, so that no other
/// client reads the same counters at the same time.
class Repair {
 public:
  Repair(Session& session, core::WallClock& wall) : session_(session), wall_(wall) {}

  void begin(core::Time now, int node);
  /// The node with this number is gone.
  void forget(core::Time now, int node);
  /// Takes an answer; `reply` is null if there is none.
  void on_answer(core::Time now, const core::Tag& tag, const redis::Reply* reply);
  /// A source with more counters than this that our clock does not explain is no source: they have
  /// to be kept until the other sources are read.
  static constexpr std::size_t most_doubts = 100'000;
  /// The number of counters read so far to repair this node; 0 if it is not being repaired.
  [[nodiscard]] std::uint64_t counters_read(int node) const {
    return node == job_.target ? job_.read : 0;
  }

 private:
  enum class Step { mark, scan, values, periods, write, check, time };

  void start(core::Time now);
  [[nodiscard]] bool choose_sources();
  [[nodiscard]] bool vouches(const redis::Membership& its) const;
  void next_source(core::Time now);
  void settle(core::Time now);
  [[nodiscard]] std::uint64_t counts_up_to() const;
  void proceed(core::Time now);
  void doubt(const std::string& key, std::uint64_t number);
  void end_of_source(core::Time now);
  void ask_times(core::Time now);
  void on_keys(core::Time now, const redis::Reply& reply);
  void ask_values(core::Time now, Step step, std::span<const std::string_view> found);
  void on_values(core::Time now, const redis::Reply& reply);
  void on_periods(core::Time now, const redis::Reply& reply);
  void write(core::Time now, Step step, std::span<const std::string_view> keys,
             std::span<const std::string_view> values, std::string_view life);
  void ask(core::Time now, int node, Step step, std::span<const std::string_view> words);
  void finish(core::Time now, bool done);

  Session& session_;
  core::WallClock& wall_;
  std::vector<int> waiting_;  ///< nodes to be repaired after this one
  std::uint32_t run_ = 0;     ///< answers of an earlier run do not count

  /// A node whose counters are copied.
  struct Source {
    int node;
    std::string record;  ///< as it was noted before its counters are read; empty if it has none
  };
  /// The repair of one node.
  struct Job {
    int target = -1;              ///< the node; -1: none
    std::string mark;             ///< on the node, as it was when the repair began
    std::vector<Source> sources;  ///< nodes still to be copied from, the last one first
    redis::Membership as;         ///< the membership to enrol the node with
    std::vector<Source> spare;    ///< nodes that vouch, too, and need not be read
    redis::NodeNames read_from;   ///< the sources that were read to the end
    /// Counters that our own clock does not explain, by key, with the names of the nodes that have
    /// them. Floors have no key.
    std::map<std::string, std::map<std::string, std::uint64_t>> doubts;
    std::size_t doubted = 0;     ///< how many of them the present source has
    redis::NodeNames of_no_use;  ///< sources with more than most_doubts of them
    std::string why;             ///< why too few nodes are sources
    bool from_quorum = false;
    bool by_clock = false;            ///< a floor above the clocks is needed
    bool refused = false;             ///< this user may not read or write some counters
    std::vector<int> clocks;          ///< nodes still to be asked for the time, if it matters
    std::vector<std::int64_t> times;  ///< what the others of them said
    std::uint64_t read = 0;           ///< counters
    std::uint64_t greatest = 0;       ///< the greatest of all counters and clocks read
    std::uint64_t floor = 0;  ///< the greatest floor of the others, and since when it stands
    std::int64_t since = 0;
    // How far the present source is read.
    std::string cursor;
    bool scan_next = false;                     ///< the next SCAN is still to be sent
    std::deque<std::vector<std::string>> keys;  ///< the keys of each unanswered read, in order
    int unanswered = 0;                         ///< the number of unanswered commands
  };
  Job job_;
  /// The mark that the present candidacy for this node has put on it.
  [[nodiscard]] const std::string& mark_of(int node) const;
  [[nodiscard]] std::string name_of(const Source& source) const;
  [[nodiscard]] std::string life() const;

  core::Time refresh_at_{};  ///< when the mark must be refreshed
  std::string bytes_;        // the command being sent
};

}  // namespace quorumlock::detail
