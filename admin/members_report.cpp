#include "admin/members_report.hpp"

#include <algorithm>

namespace quorumlock::detail {
namespace {

using Change = redis::MembersChange;
using Stage = Change::Stage;

MembersStage public_stage(Stage stage) {
  switch (stage) {
    case Stage::unknown: return MembersStage::unknown;
    case Stage::agreed: return MembersStage::agreed;
    case Stage::differs: return MembersStage::differs;
    case Stage::announced: return MembersStage::announced;
    case Stage::committed: return MembersStage::committed;
    case Stage::other: return MembersStage::other;
  }
  return MembersStage::unknown;
}

MemberState state_in(ListPhase phase) {
  switch (phase) {
    case ListPhase::settled: return MemberState::settled;
    case ListPhase::announced: return MemberState::announced;
    case ListPhase::unsettled: return MemberState::unsettled;
  }
  return MemberState::unreachable;
}

MemberState state_of(const Change& change, const Change::Node& node) {
  if (!node.reached) return MemberState::unreachable;
  if (!node.membership) {
    return std::ranges::binary_search(change.list(), node.called()) ? MemberState::waiting
                                                                    : MemberState::fresh;
  }
  const redis::Membership& its = *node.membership;
  const bool one_list = its.founding == change.state()->founding;
  if (one_list && its.phase == ListPhase::unsettled && !its.may_vote()) return MemberState::removed;
  if (change.is_apart(node)) return MemberState::apart;
  if (change.is_behind(node)) return MemberState::behind;
  return state_in(its.phase);
}

/// Returns the next step if the list governs already and some of its nodes still lack something.
std::string rest_of(const MembersReport& report, const Change& change) {
  redis::NodeNames waiting, behind, away, apart;
  int remember = 0;
  for (const Member& one : report.members) {
    if (!one.in_new_list) continue;
    if (one.state == MemberState::settled) {
      ++remember;
    } else if (one.state == MemberState::apart) {
      apart.push_back(one.name);
    } else if (one.state == MemberState::behind || one.state == MemberState::unsettled ||
               one.state == MemberState::announced) {
      behind.push_back(one.name);
    } else {
      (one.state == MemberState::unreachable ? away : waiting).push_back(one.name);
    }
  }
  if (!apart.empty()) {
    return "let " + redis::names_in_words(apart) +
           " forget what no other node says, and wait as a node without a record: quorumlock "
           "members commit";
  }
  redis::NodeNames further;
  for (const Change::Node& node : change.nodes()) {
    if (change.is_further_on(node)) further.push_back(node.called());
  }
  if (!further.empty()) {
    return "bring up the nodes that do not answer, since they may say the same as " +
           redis::names_in_words(further) + ": another list than the others that answer";
  }
  if (!behind.empty()) {
    return "take along " + redis::names_in_words(behind) + ": quorumlock members commit";
  }
  // Too few remember anything: what one of them says of a change helps to find the list.
  for (const Change::Node& node : change.nodes()) {
    if (!node.membership || node.membership->phase != ListPhase::unsettled) continue;
    if (node.membership->to == change.next() || waiting.empty()) continue;
    return "a change to " + redis::in_braces(node.membership->to) +
           " is decided, and only its nodes can let in those that forgot: put these into the "
           "configuration, and finish it with quorumlock members commit; change the list after "
           "that";
  }
  const int needed = change.state()->vouchers_needed();
  if (!waiting.empty() && remember < needed) {
    return "no vote from " + redis::names_in_words(waiting) + ": " + std::to_string(needed) +
           " nodes have to vouch for a node that forgot the list, and only " +
           std::to_string(remember) + " of those that answer know it. " +
           (away.empty() ? "Let" : "Bring up " + redis::names_in_words(away) + ", or let") +
           " them vote, by your word, with quorumlock enroll";
  }
  const auto reached = static_cast<int>(report.new_list.size() - away.size());
  if (reached < redis::quorum(change.next())) {
    return "bring up " + redis::names_in_words(away) +
           ": the others are too few for a lock, and for a change of the list. If nodes are gone "
           "for good, stop all clients, wait for max_ttl, and found a list without them with "
           "quorumlock enroll --new --force";
  }
  if (!away.empty()) {
    return "bring up " + redis::names_in_words(away) +
           "; instead of a node that is gone for good put another one into the configuration, and "
           "run quorumlock members apply";
  }
  return "wait for " + redis::names_in_words(waiting) +
         ": a node votes max_ttl after it is up, if a client or quorumlock members apply looks "
         "after it";
}

/// The reason why a step cannot be made yet, as a clause at the end of a sentence.
std::string unless(const Result<void>& may) {
  return may ? "" : "; now that would be refused: " + std::string(may.error().what());
}

}  // namespace

MembersReport report_of(const Change& change, const std::vector<ListedNode>& nodes) {
  MembersReport report;
  report.stage = public_stage(change.stage());
  if (change.state()) report.epoch = change.state()->epoch;
  report.list = change.list();
  report.new_list = change.next();
  if (change.state()) {
    const auto note = [](const redis::ListTerms& terms, auto& max_ttl, auto& fencing_memory) {
      max_ttl = std::chrono::milliseconds(terms.max_ttl_ms);
      fencing_memory = std::chrono::seconds(terms.memory_s);
    };
    note(change.terms(), report.max_ttl, report.fencing_memory);
    note(change.next_terms(), report.new_max_ttl, report.new_fencing_memory);
  }
  report.done = change.done();
  for (std::size_t i = 0; i < change.nodes().size(); ++i) {
    const Change::Node& node = change.nodes()[i];
    Member& member = report.members.emplace_back();
    member.name = node.called();
    member.node = nodes[i].node;
    member.in_new_list = node.in_next;
    member.in_list = std::ranges::binary_search(change.list(), member.name);
    member.state = state_of(change, node);
    if (node.membership) member.epoch = node.membership->epoch;
  }
  return report;
}

std::string next_step_of(const MembersReport& report, const Change& change) {
  switch (change.stage()) {
    case Stage::agreed:
      if (!report.done) return rest_of(report, change);
      return "all nodes vote for " + redis::in_braces(change.next()) + ": there is nothing to do";
    case Stage::differs: {
      const Result<void> may = change.may_announce();
      if (change.list() == change.next()) {
        return "the nodes vote " + change.terms_in_words(change.terms()) + ", and ours are " +
               change.terms_in_words(change.next_terms()) +
               ": if theirs are right, leave these out of the configuration; if they are to "
               "change, "
               "announce the change with quorumlock members announce, or make all steps with "
               "quorumlock members apply" +
               unless(may ? change.serves_next() : may);
      }
      return "the nodes vote for " + change.list_in_words() +
             ": if that is right, give this client these nodes; if this client's nodes are to "
             "replace them, announce the change with quorumlock members announce, or make all "
             "steps with quorumlock members apply" +
             unless(may ? change.serves_next() : may);
    }
    case Stage::announced: {
      const std::size_t old = report.old_clients().size();
      return "give all clients the nodes " + change.next_in_words() +
             (old == 0 ? "" : " (" + std::to_string(old) + " connected ones have others)") +
             ", then decide: quorumlock members commit" + unless(change.may_commit());
    }
    case Stage::committed: return "finish the change: quorumlock members commit";
    case Stage::other: {
      const std::string to = redis::in_braces(change.state()->to);
      if (change.state()->phase == ListPhase::announced) {
        return "a change to " + to +
               " is under way: finish it with those nodes in the configuration, or take it back "
               "with quorumlock members withdraw";
      }
      return "a change to " + to +
             " is decided, and only its nodes can let in those that forgot: put these into the "
             "configuration, and finish it with quorumlock members commit; change the list after "
             "that";
    }
    case Stage::unknown:
      return "no node that answers has a list: bring the nodes up, or found the list with "
             "quorumlock enroll --new";
  }
  return {};
}

}  // namespace quorumlock::detail
