#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <variant>

#include "lock/answer.hpp"
#include "lock/clock_watch.hpp"
#include "lock/config.hpp"
#include "lock/output.hpp"

namespace quorumlock::core {

/// Knows which nodes take commands, and which of their clocks are wrong.
class Nodes {
 public:
  explicit Nodes(const Config& config);

  /// The list has one more node, which is connecting, or one less. A number that a node had before
  /// may be given to another one, once all answers of the former are in.
  void add(int node);
  void remove(int node);
  /// The nodes of the list.
  [[nodiscard]] const NodeSet& all() const { return all_; }
  /// One more than the greatest number of a node.
  [[nodiscard]] int numbers() const { return static_cast<int>(std::bit_width(all_.bits())); }
  void on_link(int node, LinkState state, Vote reason);
  /// What a node's record says of its votes.
  struct Record {
    /// What it asks for beside a majority of our own list. Majority::impossible(): they do not
    /// count.
    Majority asks = {};
    bool changes = false;                    ///< its list is being changed
    Duration longest_ttl = Duration::max();  ///< with which they count
  };
  void on_list(int node, const Record& record);
  /// The terms of our list are known: see Config.
  void on_terms(Duration max_ttl, Duration fencing_memory);
  /// The longest ttl with which votes of a node count, as far as its record is known.
  [[nodiscard]] Duration longest_ttl(int node) const {
    return longest_ttl_[static_cast<std::size_t>(node)];
  }
  /// The longest ttl with which a lock may be won; Duration::max() if too few records are known.
  [[nodiscard]] Duration max_ttl() const { return max_ttl_; }
  /// Whether some node has said that its list is being changed. A script then compares the records,
  /// and so learns that the change is over: plain SETs would ask for the old list's votes as long
  /// as the client is connected.
  [[nodiscard]] bool list_changes() const { return !list_changes_.empty(); }
  [[nodiscard]] Majority asks(int node) const { return asks_[static_cast<std::size_t>(node)]; }
  /// A majority of the list.
  [[nodiscard]] Majority majority() const { return majority_; }
  /// Whether a lock may rest on the votes of these nodes, as far as their records are known.
  [[nodiscard]] bool wins(NodeSet yes) const;
  /// The nodes that are connecting or up.
  [[nodiscard]] NodeSet take_requests() const { return take_requests_; }
  /// The nodes of take_requests() whose first connection is being made.
  [[nodiscard]] NodeSet connecting() const { return connecting_; }
  /// The nodes that are not down.
  [[nodiscard]] NodeSet take_releases() const { return take_releases_; }
  /// The nodes to ask for votes. Ends the mistrust of nodes whose time is over.
  NodeSet voters(Time now);
  /// Whether a quorum is missing only because nodes do not answer, or are not connected.
  [[nodiscard]] bool too_silent() const;
  /// Why a node that is not a voter is not asked.
  [[nodiscard]] Vote why_not_asked(int node) const;

  /// The verdict on a reading of a node's clock: that clock is wrong, or ours is.
  using Finding = std::variant<ClockJumped, ClockStood>;
  /// Judges a node's clock by an answer to a command, or by a reading of it alone. If a node's
  /// clock is found wrong, its votes do not count for a while; if ours is, the nodes that showed it
  /// are trusted again.
  std::optional<Finding> judge_clock(Time now, int node, Time asked, std::int64_t node_time);
  [[nodiscard]] bool mistrusts(int node) const { return mistrusted_.contains(node); }
  /// The vote to count: void if the node's clock is not trusted.
  Vote counted(Time now, int node, Vote vote);

  /// Notes the time in an answer, for ticket_clock().
  void saw_time(Time now, std::int64_t node_time);
  /// A ticket for now: the nodes' time as far as it was seen, which all clients share.
  [[nodiscard]] std::uint64_t ticket_clock(Time now) const;
  [[nodiscard]] const ClockWatch& clocks() const { return clocks_; }
  /// The client's wall clock is this far ahead of Clock, in us.
  void set_wall(std::int64_t ahead_us) { wall_ahead_ = ahead_us; }
  /// The greatest fencing counter that counts whichever node says it, at least as far as this
  /// number is concerned.
  [[nodiscard]] std::uint64_t counts_up_to(Time now, std::uint64_t number) const;
  /// How many nodes cannot all be wrong: every quorum has one of them.
  [[nodiscard]] int least_that_knows() const { return all_.size() - majority_.votes() + 1; }

 private:
  void find_max_ttl();
  ClockJumped mistrust(Time now, int node, Duration beyond);
  ClockStood trust_again(Time now, NodeSet ahead, Duration beyond);

  NodeSet all_;
  Majority majority_;
  std::array<Majority, max_nodes> asks_{};
  std::array<Duration, max_nodes> longest_ttl_{};
  Duration max_ttl_ = Duration::max();
  NodeSet list_changes_;   // nodes that report a change of their list
  Duration mistrust_for_;  // the greatest ttl and its margin
  NodeSet take_requests_;
  NodeSet take_releases_;
  NodeSet connecting_;
  std::array<Vote, max_nodes> unavailable_because_;
  ClockWatch clocks_;
  NodeSet mistrusted_;    // nodes with a wrong clock, until mistrusted_until_
  NodeSet merely_ahead_;  // those of them that were only ever found ahead
  std::array<Time, max_nodes> mistrusted_until_{};
  Duration fencing_memory_;
  std::int64_t wall_ahead_ = 0;
  std::optional<std::int64_t> ahead_;  // the most that a node's clock was ahead of ours, in us
};

/// Tickets must be numbers that Lua represents exactly; a node's clock that is beyond them is
/// ignored.
inline constexpr std::uint64_t last_ticket = (std::uint64_t{1} << 53U) - (std::uint64_t{1} << 40U);

}  // namespace quorumlock::core
