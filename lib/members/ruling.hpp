#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <quorumlock/outcome.hpp>

#include "lock/quorum.hpp"
#include "lock/types.hpp"
#include "members/membership.hpp"

namespace quorumlock::redis {

/// What one node says of itself, as this client knows it.
struct NodeRecord {
  std::string name;               ///< the name that it has said, or else the configured one
  SharedMembership membership{};  ///< set if the node has a valid record of its run
  /// The record of an earlier run, if the node has no valid record.
  SharedMembership remembered{};
  /// The list that its candidate was made for, if it waits with a candidate.
  std::optional<MembersMark> candidate{};
  std::string nonce{};  ///< that candidate's
  bool ripe = false;    ///< it has waited long enough, since ripe_since
  core::Time ripe_since{};
  /// Until when the candidate is known to have stood.
  core::Time seen{};
  /// The first connection to it is being made: its name may turn out to be another one.
  bool expected = false;
  /// It has never said its name, and cannot now: it is not connected.
  bool unheard = false;
  bool knows_groups = true;  ///< there is one group, or it has a record of our groups
  /// Memberships that are equal but not shared differ.
  bool operator==(const NodeRecord&) const = default;
};

/// What the records of all nodes mean for one of them: may it vote, and if not, why; may it be
/// enrolled, and as what. Made by Electorate, and followed by the node's link. Members adds what a
/// client remembers beyond the records: `ever` and `forgotten`.
struct Ruling {
  // The vote of a node with a record.

  /// Why the node does not vote for our list although it has a record; empty if it votes.
  std::string refusal{};
  /// The vote of a node with a refusal: quarantined if waiting may change that. It has our list,
  /// but of another founding or an older epoch, or its list is perhaps ours.
  Vote vote = Vote::nodes_differ;
  /// The names of expected nodes may make a difference: until then the last ruling stands.
  bool undecided = false;
  /// The majority that the vote of this node asks for beside that of our own list, by the nodes'
  /// places; impossible() if it has a record and its votes do not count.
  core::Majority asks{};
  /// It serves our list and asks for a majority of another one of which ours has too few nodes.
  bool asks_too_much = false;
  bool changes = false;  ///< its list is being changed, or has other terms than ours
  /// The longest ttl with which its votes count.
  core::Duration longest_ttl{};

  // How a node is enrolled.

  /// The node's record is so old that no change of the nodes can bring it up to date: the node is
  /// to be enrolled like one without a record.
  bool outdated = false;
  /// Its list, or the one that it remembers, has other names than ours, but nodes that have not
  /// said their names may be the ones that are missing.
  bool perhaps_ours = false;
  /// How a node without a record may be enrolled now, or why it may not.
  SharedMembership admitted{};
  /// Enough nodes vouch for that: if they cannot be asked now, the node waits for them. Otherwise
  /// the list is founded, or an operator vouches.
  bool vouched_for = false;
  std::string why_not{};
  /// How the node would be enrolled in a list that is founded now; never null.
  SharedMembership founded = std::make_shared<Membership>();
  bool founds = false;  ///< the list is being founded, so candidates have to be of one founding
  bool begun = false;   ///< another node has a candidate of that founding
  /// The list may be founded if another look finds that the node's candidate still stands.
  bool to_look = false;
  bool ever = false;  ///< some node was ever enrolled: then locks may be held
  /// If the list is being founded, the longest max_ttl that nodes had before they forgot it.
  core::Duration forgotten{};

  [[nodiscard]] const Membership& as() const { return admitted ? *admitted : *founded; }
  /// How long a node without a record has to wait.
  [[nodiscard]] core::Duration quarantine() const { return std::max(as().quarantine(), forgotten); }
};

}  // namespace quorumlock::redis
