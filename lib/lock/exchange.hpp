#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quorumlock/stats.hpp>

#include "lock/claims.hpp"
#include "lock/config.hpp"
#include "lock/nodes.hpp"
#include "lock/output.hpp"
#include "lock/owner_token.hpp"
#include "lock/timer_queue.hpp"
#include "wait/admission.hpp"

namespace quorumlock::core {

/// What the machines of an engine share: the nodes, the claims with their rounds, the commands that
/// go out, and all other outputs.
class Exchange {
 public:
  Exchange(const Config& config, Random& random);

  /// Makes a claim with this token, or with a new one if the token is empty.
  ClaimId new_claim(std::string_view key, std::string_view token);
  /// A claim for a token that the user named; its verdict is reported to the user.
  ClaimId claim_by_token(std::string_view key, OtherKeys others, std::string_view token,
                         UserId user);
  /// Opens the claim's next round, whose commands write keys with this ttl.
  void open_round(Time now, Claim& claim, Duration ttl);
  /// Asks all these nodes at once, and records for each other node why it was not asked.
  void send_round(ClaimId id, CommandKind kind, NodeSet to);
  /// Sends one more command of a claim; a raise or a release is queued without room.
  void send(ClaimId id, const Tag& tag, NodeSet to);
  /// Puts out entries for the lines; counts them as unanswered.
  void send(SendEntries&& entries);
  /// Sends a release whose answers are not counted.
  void clean_up(ClaimId id, NodeSet to) { send(id, Tag{id, uncounted, CommandKind::release}, to); }
  /// Sends the first of the queued raises and releases; there is one. A raise whose claim has been
  /// given up since is dropped. Returns the claim, which may have nothing under way then.
  ClaimId send_queued_follow_up();
  /// Whether a round may begin: see Admission::has_room().
  [[nodiscard]] bool has_room() {
    if (admission.full().empty()) [[likely]]
      return true;
    return admission.has_room(nodes.voters(now), nodes.majority().votes());
  }
  /// Those of these nodes that keep up with the others: see Admission::crowded().
  [[nodiscard]] NodeSet at_leisure(NodeSet of) const {
    return admission.full().empty() ? of : of - admission.crowded();
  }
  /// Those of these voters that a round asks. If they are too few for a quorum it wins nothing, and
  /// must not fill their queues: those without room are left out, and count as stalled.
  [[nodiscard]] NodeSet worth_asking(NodeSet voters) const {
    return voters.size() < nodes.majority().votes() ? voters - admission.full() : voters;
  }
  /// Whether what a waiter wants may be sent at once.
  [[nodiscard]] bool is_at_leisure() { return admission.empty() && has_room(); }
  void drop_ballot(Claim& claim);
  Ballot* ballot_of(const Claim& claim) { return ballots_.find(claim.fencing.ballot); }
  /// Begins to count fencing counters; `seen` is what the token has to exceed.
  void count_fences(Claim& claim, std::uint64_t seen);

  /// Notes that the final answer to a command has come, which was sent at `asked`.
  void answered(int node, Time asked) {
    --unanswered_;
    admission.answered(now, node, asked);
  }
  [[nodiscard]] int unanswered() const { return unanswered_; }

  template <class T>
  void output(T&& value) {
    outputs_.emplace_back(std::forward<T>(value));
  }
  [[nodiscard]] bool has_outputs() const { return next_output_ < outputs_.size(); }
  /// The next output, or null. It is valid until the next call of this or of output().
  const Output* next() {
    if (has_outputs()) return &outputs_[next_output_++];
    if (next_output_ != 0) outputs_.clear();
    next_output_ = 0;
    return nullptr;
  }

  /// The counts of a lock's class; null if there are no classes. O(their number).
  [[nodiscard]] ClassStats* class_of(std::string_view key) {
    return stats.classes.empty() ? nullptr : &found_class(key);
  }

  void note_vote(int node, Vote vote) { ++votes[static_cast<std::size_t>(node)][vote]; }
  /// Adds the node's votes to those of the nodes that have left, which are in `stats`.
  void forget_votes(int node);

  Config config;  ///< the terms of the list are those that are known so far
  Random& random;
  Nodes nodes;
  Admission admission;
  Claims claims;
  TimerQueue timers;  ///< the timers of claims
  Stats stats;
  std::array<VoteCounts, max_nodes> votes{};  ///< indexed by node
  Time now{};                                 ///< the time of the current input
  std::string process;  ///< the prefix of our waiters' names; empty until the first enters a line
  Duration entry_life;  ///< how long an entry in a line lives now, and at the longest
  Duration longest_entry_life;

 private:
  void put(const Tag& tag, NodeSet to);
  ClassStats& found_class(std::string_view key);

  TokenMaker tokens_;
  Slots<Ballot> ballots_;
  int unanswered_ = 0;
  std::vector<Output> outputs_;
  std::size_t next_output_ = 0;
};

}  // namespace quorumlock::core
