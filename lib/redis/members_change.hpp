#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <quorumlock/error.hpp>
#include <quorumlock/result.hpp>

#include "core/types.hpp"
#include "redis/endpoint.hpp"
#include "redis/enrolment_record.hpp"
#include "redis/membership.hpp"

namespace quorumlock::redis {

/// A change of the list of nodes, as the operator makes it: which step the nodes are at, and by
/// which compare-and-set of each node's record the next step is made. A pure function of one look
/// at the nodes. docs/members.md has the steps, and why they are safe.
///
/// Every step may be repeated, be late, or be made by another operator, since each node takes it
/// only if its record is still the one that was looked at.
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

    /// Takes the texts that the node carries; a record of another run is not valid.
    void carries(const std::string& its_run, const std::optional<std::string>& record_text,
                 std::string_view members_text) {
      reached = true;
      run = its_run;
      membership.reset();
      record = record_text.value_or("");
      enrolment = EnrolmentRecord::parse(record);
      if (enrolment && (!is_this_run(enrolment->run_id, run) || !enrolment->members))
        enrolment.reset();
      if (enrolment) membership = Membership::parse(members_text, *enrolment->members);
      if (membership && database_of(membership->name) != database_of(name)) membership.reset();
      if (!membership) enrolment.reset();
    }
    [[nodiscard]] const std::string& called() const { return membership ? membership->name : name; }
  };
  /// One node's part of a step: its record is to become this one.
  struct Step {
    int node;
    EnrolmentRecord record;
    Membership as;
  };
  enum class Stage {
    unknown,    ///< no node says which list governs
    agreed,     ///< the new list governs
    differs,    ///< another list governs, and no change is under way
    announced,  ///< the change to the new list is announced
    committed,  ///< it is decided; the new list is to be settled
    other,      ///< a change to another list is under way
  };

  explicit MembersChange(std::vector<Node> nodes);

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// The new list, by the names that the nodes have.
  [[nodiscard]] const NodeNames& next() const { return next_; }
  /// The list that governs, or governed before the change under way.
  [[nodiscard]] const NodeNames& list() const { return list_; }
  /// The state of the node that is furthest along.
  [[nodiscard]] const std::optional<Membership>& furthest() const { return furthest_; }
  /// The names of the nodes that are in the governing list and not configured.
  [[nodiscard]] NodeNames not_configured() const;
  /// Whether the node is reached and is to vote, but does not: it is new, or was restarted.
  [[nodiscard]] bool lacks_record(const Node& node) const;
  /// Whether this node is at an earlier step than the node that is furthest along.
  [[nodiscard]] bool is_behind(const Node& node) const;
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

  [[nodiscard]] std::vector<Step> announcing() const;
  [[nodiscard]] std::vector<Step> committing() const;
  [[nodiscard]] std::vector<Step> withdrawing() const;
  /// Settles the new list on all nodes that are one step behind. `floor` is at least every fencing
  /// token that was granted before; `since` see EnrolmentRecord.
  [[nodiscard]] std::vector<Step> settling(std::uint64_t floor, std::int64_t since) const;

  /// A node that has settled the new list already, whose floor the others take; -1: there is none.
  [[nodiscard]] int settled_node() const;
  /// The nodes whose counters must be read before the list is settled: a quorum of the old list
  /// that is in the new one too.
  [[nodiscard]] std::vector<int> to_read() const;
  /// The greatest max_ttl on the nodes' records.
  [[nodiscard]] core::Duration max_ttl() const;
  /// The votes that a lock needs between the commit and the settlement.
  [[nodiscard]] int needed_meanwhile() const;
  /// The nodes of both lists.
  [[nodiscard]] NodeNames common() const;

 private:
  [[nodiscard]] bool is_at(const Node& node, MembersPhase phase) const;
  [[nodiscard]] int count_at(MembersPhase phase) const;
  /// The epoch of the list that governs, or governed before the change under way.
  [[nodiscard]] std::uint32_t epoch() const;
  [[nodiscard]] std::optional<EnrolmentRecord> brought_to_list(const Node& node) const;
  /// The names of the nodes of both lists that are not at this phase: of those that answer if
  /// `reached`, else of those that do not.
  [[nodiscard]] NodeNames common_but(MembersPhase phase, bool reached) const;
  [[nodiscard]] Error not_now(const char* step) const;
  [[nodiscard]] Error restarted(const std::string& begin, const NodeNames& nodes) const;
  template <class RecordOf>
  std::vector<Step> steps_to(const Membership& as, RecordOf record_of) const;

  std::vector<Node> nodes_;
  NodeNames next_, list_;
  std::optional<Membership> furthest_;
  Stage stage_ = Stage::unknown;
};

}  // namespace quorumlock::redis
