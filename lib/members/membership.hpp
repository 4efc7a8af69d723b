#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quorumlock/outcome.hpp>
#include <quorumlock/status.hpp>

#include "lock/types.hpp"

namespace quorumlock::redis {

/// The part of an enrolment record that is about the list of nodes: it stands for the text under
/// members_key, of which it has a digest.
struct MembersMark {
  std::uint64_t founding = 0;  ///< random bits, drawn when the first list was enrolled
  std::uint32_t epoch = 0;     ///< grows by one with each change that is decided
  ListPhase phase = ListPhase::settled;
  std::uint64_t digest = 0;

  /// "founding.epoch phase.digest": the numbers except the epoch have 16 hexadecimal digits.
  static std::optional<MembersMark> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  bool operator==(const MembersMark&) const = default;
};

/// The names of the nodes of a list, sorted.
using NodeNames = std::vector<std::string>;

/// The terms of a list that all of its clients lock by: "max_ttl in ms,fencing memory in s". They
/// are part of the list and change as it does.
struct ListTerms {
  std::int64_t max_ttl_ms = 30'000;
  std::int64_t memory_s = 86'400;

  static std::optional<ListTerms> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  [[nodiscard]] core::Duration max_ttl() const { return std::chrono::milliseconds(max_ttl_ms); }
  [[nodiscard]] core::Duration memory() const { return std::chrono::seconds(memory_s); }
  bool operator==(const ListTerms&) const = default;
};
/// The terms that a client names; it follows the nodes in the others.
struct NamedTerms {
  std::optional<std::int64_t> max_ttl_ms = {}, memory_s = {};

  /// `others`, with those that are named in their place.
  [[nodiscard]] ListTerms over(const ListTerms& others) const {
    return {max_ttl_ms.value_or(others.max_ttl_ms), memory_s.value_or(others.memory_s)};
  }
  [[nodiscard]] bool allow(const ListTerms& terms) const { return over(terms) == terms; }
  bool operator==(const NamedTerms&) const = default;
};

/// Which nodes vote, as one node knows it. A lock needs a majority of a list, and lists may differ
/// from client to client, so each node knows the list that it votes for and refuses the others.
///
/// The list changes in three steps, and any two sets of nodes that win share a node that
/// remembers: see docs/members.md.
struct Membership {
  std::uint64_t founding = 0;
  std::uint32_t epoch = 0;
  ListPhase phase = ListPhase::settled;
  std::string name;           ///< the name of the node that carries this
  NodeNames from;             ///< the list before the change; empty if settled
  NodeNames to;               ///< the list after the change; the only one if settled
  ListTerms from_terms = {};  ///< of the list before the change; the default ones if settled
  ListTerms to_terms = {};

  /// Reads the text under members_key; nothing if it is not the one that the mark stands for.
  static std::optional<Membership> parse(std::string_view text, const MembersMark& mark);
  /// The text under members_key, such as
  /// "a:7001 u a:7001,b:7001 a:7001,c:7001 30000,86400 30000,86400".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] MembersMark mark() const;

  /// The epoch of this list, if clients with it are served. There may be two lists of these nodes,
  /// with other terms; this is then the epoch of the first of them.
  [[nodiscard]] std::optional<std::uint32_t> epoch_of(const NodeNames& list) const;
  /// Whether clients with the list of these nodes and terms are served.
  [[nodiscard]] bool serves(const NodeNames& list, const ListTerms& terms) const;
  /// The terms of the lists of these nodes that are served: one, two or none.
  [[nodiscard]] std::vector<ListTerms> terms_of(const NodeNames& list) const;
  /// The longest ttl with which a vote counts for a client with a list of these terms: a greater
  /// max_ttl counts from the settle.
  [[nodiscard]] core::Duration longest_ttl(const ListTerms& terms) const;
  /// How long a node that has forgotten waits before it is let in at this state.
  [[nodiscard]] core::Duration quarantine() const;
  /// The longest ttl that a vote of this state may have counted for.
  [[nodiscard]] core::Duration longest_max_ttl() const;
  /// How long a fencing counter has to live that is written at this state, so that it is there for
  /// as long as either list says.
  [[nodiscard]] core::Duration longest_memory() const;
  /// How long an absent counter has not been written at the least.
  [[nodiscard]] core::Duration shortest_memory() const;
  /// Whether the node itself is one of those that vote in this phase.
  [[nodiscard]] bool may_vote() const { return may_vote(name); }
  [[nodiscard]] bool may_vote(std::string_view node) const;
  /// The list of which a vote asks for a majority, beside that of the client's own list; null if it
  /// asks for nothing more.
  [[nodiscard]] const NodeNames* asks() const {
    return phase == ListPhase::settled ? nullptr : &from;
  }
  /// Whether nodes of these names, which stand at this state, are enough to let in a node that has
  /// forgotten, or is new: N - q + 1 of each list of which its votes will need a majority, so that
  /// every quorum has one of them. The names are sorted.
  [[nodiscard]] bool is_vouched_for_by(const NodeNames& names) const;
  /// The least number of nodes that must vouch for one that has forgotten, or is new.
  [[nodiscard]] int vouchers_needed() const;
  /// How far the change of the list has come; of the same founding, a greater number is further.
  [[nodiscard]] std::uint64_t rank() const;
  [[nodiscard]] Membership for_node(std::string node) const;

  bool operator==(const Membership&) const = default;

 private:
  /// Whether clients with this list are served, as the one before the change, or after it.
  [[nodiscard]] bool serves_as_old(const NodeNames& list) const;
  [[nodiscard]] bool serves_as_new(const NodeNames& list) const;
};

/// A membership that several places know and none changes; null if there is none.
using SharedMembership = std::shared_ptr<const Membership>;

/// Why a node with this membership does not serve clients with this list.
std::string difference(const Membership& its, const NodeNames& ours);
/// Why a node with this membership does not serve us although `list`, which it serves, may be ours
/// by other names.
std::string unclear(const Membership& its, const NodeNames& list, const NodeNames& ours);
/// Why a node with this membership does not vote for this list; empty if it does.
std::string refusal_of(const Membership& its, const NodeNames& ours);
/// The vote of a node with this membership, and why, if the lists that it serves have other terms
/// than a client names; Vote::pending if they have not. It is about the first term that differs.
std::pair<Vote, std::string> terms_difference(const Membership& its, const NodeNames& ours,
                                              const NamedTerms& named);
/// Why a client with this list does not change the groups of a node with this membership; empty if
/// it may. Nodes of the list that the client does not know would keep their records, and a lease on
/// them would go on.
std::string why_groups_stay(const Membership& its, const NodeNames& ours);
/// A text that stands for the list of a client: clients with the same nodes that name the same
/// terms have the same.
std::string list_mark(const NodeNames& list, const NamedTerms& named);
/// Whether this mark is that of a client which a list of these terms serves.
bool is_mark_of(std::string_view mark, const NodeNames& list, const ListTerms& terms);

/// What stands between the name of a member and its database. The path of a socket may end with a
/// slash and a number.
std::string_view database_mark(std::string_view member);
/// The database that the name of a member ends with; 0 if it names none.
int database_of(std::string_view member);

/// These take a sorted list.
int quorum(const NodeNames& list);
bool is_member(const NodeNames& list, std::string_view name);
/// How many of these names, which are sorted, are in the list.
int count_of(const NodeNames& list, const NodeNames& names);
/// Whether votes with these memberships, which accept the list, win a lock for a client with it.
bool win(const std::vector<SharedMembership>& votes, const NodeNames& list);
NodeNames without(const NodeNames& list, const NodeNames& others);

/// "a, b and c"; "no node" if the list is empty.
std::string names_in_words(const NodeNames& names);
/// The same as a set: "{a, b and c}".
std::string in_braces(const NodeNames& names);

}  // namespace quorumlock::redis
