#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "lock/quorum.hpp"
#include "lock/types.hpp"
#include "members/membership.hpp"

namespace quorumlock::redis {

/// Decides, from what the nodes of our list say, which of them vote for our list, and with which
/// membership a node without a record may be enrolled. A pure function of its inputs except for the
/// founding, which is kept as long as a node votes for it.
///
/// - Our list is the set of the nodes' names. A node that has a name reports it; for any other we
///   use the name that we were given.
/// - A node accepts our list by its founding and names. What another node says changes nothing for
///   its vote.
/// - A list also has terms. A change of the nodes may make lists of our nodes be served with
///   different terms. We have one of them at a time: the nodes that do not serve it do not vote.
/// - A name is learnt from the node itself only. If another list differs from ours in the names of
///   nodes that have not said theirs, it may be ours: its nodes do not vote, but nobody is to
///   blame.
/// - A node that is new, or may have forgotten, is enrolled with a state at which as many of the
///   nodes that vote for our list stand as that state requires: never by the word of a single node.
/// - If no node has a record, the list is founded: every node waits with a candidate of one
///   founding, and of two the smaller one stays. A record of another founding stops that, and so
///   does a record of another list that a node had before it was restarted. There must be a moment
///   at which all of them had waited long enough: an earlier look at one node proves nothing, since
///   a client with another list may have replaced its candidate since.
class Electorate {
 public:
  /// The known facts about one node.
  struct Node {
    std::string name;               ///< the configured name
    SharedMembership membership{};  ///< set if the node has a valid record of its run
    /// The record of an earlier run, if the node has no valid record.
    SharedMembership remembered{};
    /// The list that its candidate was made for, if it waits with a candidate.
    std::optional<MembersMark> candidate{};
    bool ripe = false;  ///< it has waited long enough, since ripe_since
    core::Time ripe_since{};
    /// Until when the candidate is known to have stood.
    core::Time seen{};
    /// The first connection to it is being made: its name may turn out to be another one.
    bool expected = false;
    /// It has never said its name, and cannot now: it is not connected.
    bool unheard = false;
    bool knows_groups = true;  ///< there is one group, or it has a record of our groups
    /// Memberships that are equal but not shared differ.
    bool operator==(const Node&) const = default;
  };
  /// The conclusions about one node.
  struct Judgement {
    /// Why the node does not vote for our list although it has a record; empty if it votes.
    std::string refusal;
    /// The vote of a node with a refusal: quarantined if waiting may change that. It has our list,
    /// but of another founding or an older epoch, or its list is perhaps ours.
    Vote vote = Vote::nodes_differ;
    /// Its list, or the one that it remembers, has other names than ours, but nodes that have not
    /// said their names may be the ones that are missing.
    bool perhaps_ours = false;
    bool undecided = false;  ///< the names of expected nodes may make a difference
    /// The majority that the vote of this node asks for beside that of our own list, by the nodes'
    /// places; impossible() if it has a record and its votes do not count.
    core::Majority asks;
    /// It serves our list and asks for a majority of another one of which ours has too few nodes.
    bool asks_too_much = false;
    bool changes = false;  ///< its list is being changed, or has other terms than ours
    /// The longest ttl with which its votes count.
    core::Duration longest_ttl{};
    /// The node's record is so old that no change of the nodes can bring it up to date: the node is
    /// to be enrolled like one without a record.
    bool outdated = false;
    /// The list may be founded if another look finds that the node's candidate still stands.
    bool to_look = false;
    /// How the node would be enrolled in a list that is founded now.
    SharedMembership founded;
    /// How a node without a record may be enrolled now, or why it may not.
    SharedMembership admitted;
    std::string why_not;
  };

  explicit Electorate(core::Random& random, NamedTerms named = {});

  /// The operator vouches for nodes without a record.
  void vouch();
  /// The result is valid until the next call. A call with the same nodes as the last one returns
  /// what that returned.
  [[nodiscard]] const std::vector<Judgement>& judge(std::span<const Node> nodes);
  /// Whether the list is being founded, so that all candidates have to be of one founding.
  [[nodiscard]] bool founds() const { return founds_; }
  /// Whether some node has a candidate of the founding that is proposed.
  [[nodiscard]] bool begun() const { return begun_; }
  /// The nodes that vote for our list.
  [[nodiscard]] const std::vector<int>& voters() const { return voters_; }
  /// A number that changes whenever another founding is taken; 0: none yet.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  /// The terms of our list: those of the nodes that vote for it, or else those that it would be
  /// founded with.
  [[nodiscard]] const ListTerms& terms() const { return terms_; }

 private:
  [[nodiscard]] std::vector<Judgement> decide(std::span<const Node> nodes);
  void take_names(std::span<const Node> nodes);
  void choose_founding(std::span<const Node> nodes);
  void choose_terms(std::span<const Node> nodes);
  void remember_terms(std::span<const Node> nodes);
  void name_founded(std::span<const Node> nodes);
  void propose(std::span<const Node> nodes);
  void choose_state(std::span<const Node> nodes, std::span<const Judgement> judged);
  [[nodiscard]] core::Majority asked_by(const Membership& its, std::span<const Node> nodes) const;
  [[nodiscard]] bool is_outdated(const Membership& its) const;
  [[nodiscard]] bool may_be_ours(const NodeNames& list, std::span<const Node> nodes) const;
  [[nodiscard]] const NodeNames* perhaps_ours(const Membership& its,
                                              std::span<const Node> nodes) const;
  void admit(Judgement& its, const std::string& founding_waits) const;
  static void look_together(std::span<const Node> nodes, std::vector<Judgement>& judged);
  [[nodiscard]] std::string founding_waits_for(std::span<const Node> nodes,
                                               std::span<const Judgement> judged) const;

  /// How a node would be enrolled in a list that is founded now.
  struct Founded {
    SharedMembership membership;
    MembersMark mark;
  };

  core::Random& random_;
  const NamedTerms named_;
  NodeNames list_;                ///< our list
  ListTerms terms_;               ///< of our list
  std::uint64_t own_;             ///< the founding that we would begin, drawn for this list
  std::vector<Founded> founded_;  ///< by node: with the founding of the candidates, or our own
  std::uint64_t founding_ = 0;    ///< the one that counts among nodes with a record; 0: none yet
  std::uint32_t generation_ = 0;
  bool vouched_ = false;
  bool founds_ = true;
  bool begun_ = false;
  std::vector<int> voters_;
  /// The state with which a node without a record is let in, for any name. Null: there is none at
  /// which enough nodes stand.
  SharedMembership state_;
  /// The state at which most voters stand, or else most of those that ask for too much.
  SharedMembership likely_;
  int stand_ = 0;  ///< how many stand at likely_
  /// The nodes that judged_ is about; empty once the operator has vouched.
  std::vector<Node> asked_;
  std::vector<Judgement> judged_;
};

}  // namespace quorumlock::redis
