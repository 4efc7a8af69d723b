#pragma once

#include <cstdint>
#include <utility>

#include <quorumlock/result.hpp>

#include "lock/ballot.hpp"
#include "lock/tag.hpp"
#include "lock/tally.hpp"

namespace quorumlock::core {

/// One command to every node, and their answers. A claim has one round at a time; an answer counts
/// only for the round that asked.
class Round {
 public:
  /// The result of the votes for fencing tokens, once a quorum has granted a lock.
  struct Fence {
    bool decided;          ///< whether a quorum has voted for `number`
    std::uint64_t number;  ///< the fencing token, or the number to raise the counters to
    NodeSet to_raise;      ///< the nodes to be asked to raise their counters
  };

  /// Begins the next round: from now on only answers to its own commands count.
  void open(Time now, Duration ttl, NodeSet nodes, Majority own);
  /// The round has its verdict.
  void close() { open_ = false; }
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] std::uint16_t number() const { return number_; }
  [[nodiscard]] Time start() const { return start_; }
  [[nodiscard]] Duration ttl() const { return ttl_; }

  /// Counts a node's answer; the ballot is null if no fencing counters are counted. `reads`: the
  /// claim is a reader's. Returns true if this answer is what made the node grant.
  bool count(const Ballot::Said& answer, bool reads, Ballot* ballot, Random& random);
  /// Counts a node that is late. Returns false if nothing is awaited from it.
  bool late(int node, CommandKind kind, Ballot* ballot);
  /// Whether a quorum voted for one and the same number, which is then the fencing token. If a
  /// quorum has granted, but with different numbers, all of its nodes are asked to raise their
  /// counters to the greatest number seen, and so is each node that grants later. The number grows
  /// as soon as a quorum of nodes has answered every command and does not agree: a silent node is
  /// never waited for while a quorum of the others can decide. A counter is raised only if the
  /// node's key is ours, so the deadline is that of the locks.
  [[nodiscard]] Fence judge_fence(Ballot& ballot) const;
  /// Until when to wait for the remaining nodes although a quorum has answered, because their
  /// answers may decide better. Three times as long as the quorum took, at least 5 ms.
  [[nodiscard]] Time patient_until(Time now) const;

  Tally tally;

 private:
  bool open_ = false;
  std::uint16_t number_ = 0;
  Duration ttl_{};
  Time start_{};
};

/// Whether the nodes that have not answered decide if the options are at fault.
bool may_be_misconfigured(const Tally& tally);

/// Whether a quorum was reached at all. Pending, too, while the nodes that have not answered decide
/// why it was not.
Verdict reached(const Tally& tally);

/// Why no quorum was reached. It is the options' fault if the nodes that contradict them leave no
/// quorum, whatever becomes of the others: then waiting would change nothing.
Errc why_unreached(const Tally& tally);

}  // namespace quorumlock::core
