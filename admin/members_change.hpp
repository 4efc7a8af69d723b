#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quorumlock/result.hpp>

#include "lock/types.hpp"
#include "members/enrolment_record.hpp"
#include "members/membership.hpp"

namespace quorumlock::redis {

/// A change of the list of nodes, as the operator makes it: which step the nodes are at, and by
/// which compare-and-set of each node's record the next step is made. A pure function of one look
/// at the nodes. docs/members.md has the steps, and why they are safe.
///
/// Every step may be repeated, be late, or be made by another operator, since each node takes it
/// only if its record is still the one that was looked at.
///
/// A list governs, and a change of it is decided, if N - q + 1 nodes of the list say so: fewer of
/// them may say anything. For a list of one or two nodes that is one node, which is believed if no
/// other contradicts it. What nobody but a few nodes says counts as a step that they have made, and
/// the operator looks and waits anew.
class MembersChange {
 public:
  /// The result of a look at one node.
  struct Node {
    std::string name;      ///< the configured name
    bool in_next = false;  ///< it is in the new list
    bool reached = false;  ///< it has answered
    std::string run{};     ///< the run of its server
    std::string record{};  ///< the whole text; empty if there is none
    /// The record, if it is valid in this run of the server, and the membership that it stands for.
    std::optional<EnrolmentRecord> enrolment{};
    std::optional<Membership> membership{};
    /// No clock explains its floor, and too few nodes have one as great: it is to be forgotten.
    bool bad_floor = false;
    /// Clients with the old list may be connected to it since before it was committed. Then it does
    /// not count in the look that decides when the new list may be settled: see SettlementWait.
    bool old_connections = false;

    /// Takes the texts that the node carries; a record of another run is not valid.
    void carries(const std::string& its_run, const std::optional<std::string>& record_text,
                 std::string_view members_text) {
      reached = true;
      run = its_run;
      membership.reset();
      record = record_text.value_or("");
      enrolment = EnrolmentRecord::parse(record);
      if (enrolment && !is_this_run(enrolment->run_id, run)) enrolment.reset();
      if (enrolment) membership = Membership::parse(members_text, enrolment->members);
      if (membership && database_of(membership->name) != database_of(name)) membership.reset();
      if (!membership) enrolment.reset();
    }
    [[nodiscard]] const std::string& called() const { return membership ? membership->name : name; }
  };
  /// One node's part of a step: its record is to become this one, or to be forgotten.
  struct Step {
    int node;
    EnrolmentRecord record;
    Membership as;
    bool forgets = false;
  };
  enum class Stage {
    unknown,    ///< no node says which list governs
    agreed,     ///< the new list governs
    differs,    ///< another list governs, and no change is under way
    announced,  ///< the change to the new list is announced
    committed,  ///< it is decided; the new list is to be settled
    other,      ///< a change to another list is under way
  };

  /// Floors up to `counts` count whichever node says them: see core::counts_up_to().
  /// `named` are the terms of the new list; it keeps the others.
  explicit MembersChange(std::vector<Node> nodes,
                         std::uint64_t counts = std::numeric_limits<std::uint64_t>::max(),
                         const NamedTerms& named = {});

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// The new list, by the names that the nodes have.
  [[nodiscard]] const NodeNames& next() const { return next_; }
  [[nodiscard]] const ListTerms& next_terms() const { return next_terms_; }
  /// The list that governs, or governed before the change under way.
  [[nodiscard]] const NodeNames& list() const { return list_; }
  [[nodiscard]] const ListTerms& terms() const { return terms_; }
  // The same in words, with their terms if these are to change.
  [[nodiscard]] std::string next_in_words() const { return in_words(next_, next_terms_); }
  [[nodiscard]] std::string list_in_words() const { return in_words(list_, terms_); }
  /// Such as "with max_ttl 30s and fencing_memory 1d".
  [[nodiscard]] static std::string terms_in_words(const ListTerms& terms);
  /// The state that the nodes are at, or are being brought to; unset if no node has a record.
  [[nodiscard]] const std::optional<Membership>& state() const { return state_; }
  /// Whether a client with this mark may stay connected while the new list is settled: see
  /// redis::list_mark(). Without fencing its votes compare no record. So it must not have another
  /// list; and one that names no max_ttl goes by what it read when it connected, which must not be
  /// longer than a node that forgets will wait.
  [[nodiscard]] bool may_stay_connected(std::string_view mark) const;
  /// The names of the nodes that are in the governing list and not configured.
  [[nodiscard]] NodeNames not_configured() const;
  /// Whether the node is reached and is to vote, but does not: it is new, or was restarted.
  [[nodiscard]] bool lacks_record(const Node& node) const;
  /// Whether this node is at an earlier step than the others.
  [[nodiscard]] bool is_behind(const Node& node) const;
  /// Whether this node of one of the lists says something from which no step leads to the state of
  /// the others: somebody has made it up, or the node comes from an old disk.
  [[nodiscard]] bool is_apart(const Node& node) const;
  /// The same, but the node is further on than the others, and so may those be that do not answer.
  [[nodiscard]] bool is_further_on(const Node& node) const;
  /// Whether all nodes of the new list are at its settled state.
  [[nodiscard]] bool done() const;

  /// Why a step must not be made now, with what to do first. misconfigured: it is not safe, or
  /// could not be finished; no_quorum: too few nodes; timed_out: waiting helps.
  [[nodiscard]] Result<void> may_announce() const;
  /// Whether enough nodes of both lists answer for clients with the new list once it is announced.
  [[nodiscard]] Result<void> serves_next() const;
  [[nodiscard]] Result<void> may_commit() const;
  [[nodiscard]] Result<void> may_withdraw() const;
  /// Whether the new list can be settled after a wait.
  [[nodiscard]] Result<void> may_settle() const;
  /// Whether this look, too, is at the change of that state, or at its list: somebody may have made
  /// another one since.
  [[nodiscard]] bool is_still(const Membership& state) const;
  /// Whether the steps are made: on enough nodes for the change to go on, or on all.
  [[nodiscard]] Result<void> is_announced() const;
  [[nodiscard]] Result<void> is_withdrawn() const;
  [[nodiscard]] Result<void> is_settled() const;

  [[nodiscard]] std::vector<Step> announcing() const;
  [[nodiscard]] std::vector<Step> committing() const;
  [[nodiscard]] std::vector<Step> withdrawing() const;
  /// Makes the nodes that are apart forget what they say. They come back as nodes without a record.
  [[nodiscard]] std::vector<Step> forgetting() const;
  /// The command that makes a step.
  [[nodiscard]] std::vector<std::string> command(const Step& step) const;
  /// Once the new list governs or is decided, settles it on all nodes that are one step behind.
  /// `floor` is at least every fencing token that was granted before; `since` see EnrolmentRecord.
  /// If fencing_memory becomes longer, a node is committed first, and then settled only if it is
  /// one of `read`: those of read_first() whose own counters are not above the floor.
  [[nodiscard]] std::vector<Step> settling(std::uint64_t floor, std::int64_t since,
                                           const std::vector<int>& read) const;

  /// The nodes of the old list that are committed to the change, or further on.
  [[nodiscard]] std::vector<int> committed() const;
  /// The node with the greatest floor of those that have settled the list; -1: there is none.
  [[nodiscard]] int settled_node() const;
  /// The nodes whose counters must be read before the list is settled: as many of these as are a
  /// quorum of the old list. All of them are committed, or further on.
  [[nodiscard]] std::vector<int> to_read() const;
  /// That number.
  [[nodiscard]] int sources_needed() const;
  /// The nodes to settle whose own counters must be read before, as they were written for a shorter
  /// fencing_memory until the commit, and a longer one asks for more of them.
  [[nodiscard]] std::vector<int> read_first() const;
  /// The greatest number that counts, if these are the floors, or the greatest counters, of nodes
  /// of the old list.
  [[nodiscard]] std::uint64_t counts_up_to(std::vector<std::uint64_t> numbers) const;
  /// A number above all counters that have expired before clocks of nodes show `now`, in us since
  /// 1970, and lived for the fencing_memory of the list before: absent ones begin by the new one
  /// once the new list is settled. 0 if that is not longer.
  [[nodiscard]] std::uint64_t floor_of_expired(std::int64_t now) const {
    return floor_of_expired(now, terms_);
  }
  /// The same for counters of one of read_first(), which may have missed the decision.
  [[nodiscard]] std::uint64_t floor_of_expired(std::int64_t now, int node) const {
    return floor_of_expired(now, nodes_[static_cast<std::size_t>(node)].membership->from_terms);
  }
  /// The nodes of both lists.
  [[nodiscard]] NodeNames common() const;

 private:
  [[nodiscard]] std::string in_words(const NodeNames& list, const ListTerms& terms) const;
  void choose_list(std::uint64_t founding);
  void choose_stage(std::uint64_t founding);
  [[nodiscard]] bool is_at(const Node& node, ListPhase phase) const;
  /// Whether this node is at this phase of the change to the new list, or further on.
  [[nodiscard]] bool has_come_to(const Node& node, ListPhase phase) const;
  /// The names of the nodes for which this is true, sorted.
  template <class Is>
  [[nodiscard]] NodeNames names_if(Is is) const;
  [[nodiscard]] int count_at(ListPhase phase) const;
  [[nodiscard]] bool has_step(int node) const;
  [[nodiscard]] bool is_at_odds(const Node& node) const;
  [[nodiscard]] bool may_be_right(const Node& node) const;
  [[nodiscard]] std::uint64_t floor_of_expired(std::int64_t now, const ListTerms& before) const;
  [[nodiscard]] bool is_one_behind(const Node& node) const;
  [[nodiscard]] bool is_to_settle(const Node& node) const;
  [[nodiscard]] bool grows_memory(const Membership& its) const;
  /// Whether this node has a longer fencing_memory to settle, that of the list which governs.
  [[nodiscard]] bool is_unfinished(const Node& node) const;
  [[nodiscard]] std::vector<Step> committing_late() const;
  [[nodiscard]] std::optional<EnrolmentRecord> brought_to_list(const Node& node) const;
  /// These states of the list that governs, and of the change to the new one.
  [[nodiscard]] Membership settled(std::uint32_t epoch, const NodeNames& list,
                                   const ListTerms& terms) const;
  [[nodiscard]] Membership changing(ListPhase phase) const;
  /// The names of the nodes of both lists that are not at this phase: of those that answer if
  /// `reached`, else of those that do not.
  [[nodiscard]] NodeNames common_but(ListPhase phase, bool reached) const;
  [[nodiscard]] Error not_now(const char* step) const;
  [[nodiscard]] Error restarted(const std::string& begin, const NodeNames& nodes) const;
  template <class RecordOf>
  std::vector<Step> steps_to(const Membership& as, RecordOf record_of) const;

  std::vector<Node> nodes_;
  std::uint64_t counts_;
  NodeNames next_, list_;
  ListTerms next_terms_, terms_;
  std::uint32_t epoch_ = 0;  ///< of list_
  bool is_certain_ = false;  ///< enough nodes say that list_ governs or governed in this epoch
  std::optional<Membership> state_;
  Stage stage_ = Stage::unknown;
};

}  // namespace quorumlock::redis
