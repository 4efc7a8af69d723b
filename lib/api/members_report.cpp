#include "api/members_report.hpp"

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

std::string phase_word(redis::MembersPhase phase) {
  switch (phase) {
    case redis::MembersPhase::settled: return "settled";
    case redis::MembersPhase::announced: return "announced";
    case redis::MembersPhase::unsettled: return "unsettled";
  }
  return {};
}

std::string state_of(const Change& change, const Change::Node& node) {
  if (!node.reached) return "unreachable";
  if (!node.membership) {
    return std::ranges::binary_search(change.list(), node.called()) ? "waiting" : "new";
  }
  const redis::Membership& its = *node.membership;
  const bool one_list = its.founding == change.furthest()->founding;
  if (one_list && its.phase == redis::MembersPhase::unsettled && !its.may_vote()) return "removed";
  if (change.is_behind(node)) return "behind";
  return phase_word(its.phase);
}

/// What is still to be done for nodes of a list that governs already.
std::string rest_of(const MembersReport& report) {
  std::string waiting, behind, away;
  for (const Member& one : report.members) {
    if (!one.in_new_list || one.state == "settled") continue;
    std::string& to = one.state == "behind" || one.state == "unsettled" ? behind
                      : one.state == "unreachable"                      ? away
                                                                        : waiting;
    to += (to.empty() ? "" : ", ") + one.name;
  }
  if (!behind.empty()) return "take along " + behind + ": quorumlock members commit";
  if (!away.empty()) {
    return "bring up " + away +
           "; if it is gone for good, put another node in its place in the configuration, and run "
           "quorumlock members apply";
  }
  return "wait for " + waiting +
         ": a node votes max_ttl after it is up, if a client or quorumlock members apply looks "
         "after it";
}

/// The reason why a step cannot be made yet, as a clause at the end of a sentence.
std::string unless(const Result<void>& may) {
  return may ? "" : "; now that would be refused: " + std::string(may.error().what());
}

}  // namespace

MembersReport report_of(const Change& change, std::span<const std::string> urls) {
  MembersReport report;
  report.stage = public_stage(change.stage());
  if (change.furthest()) report.epoch = change.furthest()->epoch;
  report.list = change.list();
  report.new_list = change.next();
  report.done = change.done();
  for (std::size_t i = 0; i < change.nodes().size(); ++i) {
    const Change::Node& node = change.nodes()[i];
    Member& member = report.members.emplace_back();
    member.name = node.called();
    member.node = urls[i];
    member.in_new_list = node.in_next;
    member.in_list = std::ranges::binary_search(change.list(), member.name);
    member.state = state_of(change, node);
    if (node.membership) member.epoch = node.membership->epoch;
  }
  return report;
}

std::vector<std::string> clients_but(std::string_view wanted, std::string_view listed) {
  std::vector<std::string> found;
  while (!listed.empty()) {
    const std::string_view line = listed.substr(0, listed.find('\n'));
    listed.remove_prefix(std::min(line.size() + 1, listed.size()));
    std::string_view address, name;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      const std::string_view field = line.substr(at, end - at);
      if (field.starts_with("addr=")) address = field.substr(5);
      if (field.starts_with("name=")) name = field.substr(5);
      at = end + 1;
    }
    if (name.starts_with(redis::connection_prefix) && name != wanted) found.emplace_back(address);
  }
  return found;
}

std::string next_step_of(const MembersReport& report, const Change& change) {
  const std::string next = redis::names_in_words(change.next());
  switch (change.stage()) {
    case Stage::agreed:
      if (!report.done) return rest_of(report);
      return "all nodes vote for {" + next + "}: there is nothing to do";
    case Stage::differs: {
      const Result<void> may = change.may_announce();
      return "the nodes vote for {" + redis::names_in_words(change.list()) +
             "}: if that is right, give this client these nodes; if this client's nodes are to "
             "replace them, announce the change with quorumlock members announce, or make all "
             "steps with quorumlock members apply" +
             unless(may ? change.serves_next() : may);
    }
    case Stage::announced: {
      const std::size_t old = report.old_clients().size();
      return "give all clients the nodes {" + next + "}" +
             (old == 0 ? "" : " (" + std::to_string(old) + " connected ones have other nodes)") +
             ", then decide: quorumlock members commit" + unless(change.may_commit());
    }
    case Stage::committed: return "finish the change: quorumlock members commit";
    case Stage::other:
      return "a change to {" + redis::names_in_words(change.furthest()->to) +
             "} is under way: finish it with those nodes in the configuration, or take it back "
             "with "
             "quorumlock members withdraw";
    case Stage::unknown:
      return "no node that answers has a list: bring the nodes up, or found the list with "
             "quorumlock enroll --new";
  }
  return {};
}

}  // namespace quorumlock::detail
