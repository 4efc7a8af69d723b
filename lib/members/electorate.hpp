#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lock/quorum.hpp"
#include "lock/types.hpp"
#include "members/membership.hpp"
#include "members/ruling.hpp"

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
///   a client with another list may have replaced its candidate since. Once a node has a record,
///   the others follow only with the candidates of that moment: a node that has forgotten the
///   record of this founding may have a new candidate for it.
class Electorate {
 public:
  explicit Electorate(core::Random& random, NamedTerms named = {});

  /// The operator vouches for nodes without a record.
  void vouch();
  /// The result is valid until the next call. A call with the same nodes as the last one returns
  /// what that returned.
  [[nodiscard]] const std::vector<Ruling>& judge(std::span<const NodeRecord> nodes);
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
  [[nodiscard]] std::vector<Ruling> decide(std::span<const NodeRecord> nodes);
  void take_names(std::span<const NodeRecord> nodes);
  void choose_founding(std::span<const NodeRecord> nodes);
  void choose_terms(std::span<const NodeRecord> nodes);
  void remember_terms(std::span<const NodeRecord> nodes);
  void name_founded(std::span<const NodeRecord> nodes);
  void propose(std::span<const NodeRecord> nodes);
  void choose_state(std::span<const NodeRecord> nodes, std::span<const Ruling> judged);
  [[nodiscard]] core::Majority asked_by(const Membership& its,
                                        std::span<const NodeRecord> nodes) const;
  [[nodiscard]] bool is_outdated(const Membership& its) const;
  [[nodiscard]] bool may_be_ours(const NodeNames& list, std::span<const NodeRecord> nodes) const;
  [[nodiscard]] const NodeNames* perhaps_ours(const Membership& its,
                                              std::span<const NodeRecord> nodes) const;
  [[nodiscard]] bool is_founder(std::span<const NodeRecord> nodes, std::size_t i) const;
  [[nodiscard]] std::string vouched_for_by_too_few() const;
  void admit(Ruling& its, const std::string& founding_waits) const;
  static void look_together(std::span<const NodeRecord> nodes, std::vector<Ruling>& judged);
  [[nodiscard]] std::string founding_waits_for(std::span<const NodeRecord> nodes,
                                               std::span<const Ruling> judged);

  core::Random& random_;
  const NamedTerms named_;
  NodeNames list_;     ///< our list
  ListTerms terms_;    ///< of our list
  std::uint64_t own_;  ///< the founding that we would begin, drawn for this list
  /// How each node would be enrolled in our list: with the founding of the candidates, or our own.
  std::vector<SharedMembership> founded_;
  std::uint64_t founding_ = 0;  ///< the one that counts among nodes with a record; 0: none yet
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
  /// The nonces with which all nodes waited together, by node, before any of them had a record.
  std::vector<std::string> waited_;
  /// The nodes that judged_ is about; empty once the operator has vouched.
  std::vector<NodeRecord> asked_;
  std::vector<Ruling> judged_;
};

}  // namespace quorumlock::redis
