#include "redis/members_change.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/mutants.hpp"
#include "core/quorum.hpp"

namespace quorumlock::redis {

using core::Mutant, core::planted;
using Record = std::optional<EnrolmentRecord>;

namespace {

Error unsafe(std::string sentence) {
  return {Errc::misconfigured, std::move(sentence)};
}

Error too_few(std::string sentence) {
  return {Errc::no_quorum, std::move(sentence)};
}

std::string of(int count, std::size_t all) {
  return std::to_string(count) + " of " + std::to_string(all);
}

}  // namespace

MembersChange::MembersChange(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  std::map<std::uint64_t, int> foundings;
  for (const Node& node : nodes_) {
    if (node.in_next) next_.push_back(node.called());
    if (node.membership) ++foundings[node.membership->founding];
  }
  std::ranges::sort(next_);
  // A server that is reached by two addresses counts once, whatever the database.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].membership) continue;
    const bool again = std::any_of(
        nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(i), [&](const Node& other) {
          return other.membership &&
                 (other.called() == nodes_[i].called() || other.run == nodes_[i].run);
        });
    if (again) nodes_[i].membership.reset();
  }
  if (foundings.empty()) return;
  const std::uint64_t founding =
      std::ranges::max_element(foundings, {}, [](const auto& one) { return one.second; })->first;
  for (const Node& node : nodes_) {
    if (!node.membership || node.membership->founding != founding) continue;
    const bool further = !furthest_ || node.membership->rank() > furthest_->rank();
    // Of two changes that were announced at once, the one to our list is looked at.
    const bool ours =
        furthest_ && node.membership->rank() == furthest_->rank() && node.membership->to == next_;
    if (further || ours) furthest_ = node.membership;
  }
  const bool merged = planted(Mutant::two_steps_merged) && furthest_->to != next_;
  if (merged && furthest_->phase == MembersPhase::unsettled)
    furthest_->phase = MembersPhase::settled;
  const bool settled = furthest_->phase == MembersPhase::settled;
  list_ = settled ? furthest_->to : furthest_->from;
  const bool is_ours = furthest_->to == next_;
  if (settled) {
    stage_ = is_ours ? Stage::agreed : Stage::differs;
  } else if (!is_ours) {
    stage_ = Stage::other;
  } else {
    stage_ = furthest_->phase == MembersPhase::announced ? Stage::announced : Stage::committed;
  }
}

NodeNames MembersChange::not_configured() const {
  NodeNames configured;
  for (const Node& node : nodes_) configured.push_back(node.called());
  std::ranges::sort(configured);
  return without(list_, configured);
}

NodeNames MembersChange::common() const {
  NodeNames both;
  std::ranges::set_intersection(list_, next_, std::back_inserter(both));
  return both;
}

bool MembersChange::lacks_record(const Node& node) const {
  return node.reached && !node.membership && furthest_ && furthest_->may_vote(node.called());
}

/// Whether the node is at the furthest state's epoch and list, and at this phase.
bool MembersChange::is_at(const Node& node, MembersPhase phase) const {
  if (!node.membership || node.membership->founding != furthest_->founding) return false;
  const Membership& its = *node.membership;
  return its.phase == phase && its.epoch == furthest_->epoch &&
         (its.to == furthest_->to || (phase == MembersPhase::settled && its.to == list_)) &&
         (phase == MembersPhase::settled || its.from == list_);
}

int MembersChange::count_at(MembersPhase phase) const {
  return static_cast<int>(std::ranges::count_if(nodes_, [&](const Node& node) {
    return is_member(list_, node.called()) && is_at(node, phase);
  }));
}

NodeNames MembersChange::common_but(MembersPhase phase, bool reached) const {
  NodeNames names = common();
  std::erase_if(names, [&](const std::string& name) {
    const auto node = std::ranges::find(nodes_, name, &Node::called);
    return node->reached != reached || is_at(*node, phase);
  });
  return names;
}

bool MembersChange::is_behind(const Node& node) const {
  if (!furthest_ || !node.membership) return false;
  return node.membership->founding != furthest_->founding ||
         node.membership->rank() < furthest_->rank();
}

bool MembersChange::done() const {
  return stage_ == Stage::agreed && std::ranges::all_of(nodes_, [&](const Node& node) {
           return !node.in_next || is_at(node, MembersPhase::settled);
         });
}

int MembersChange::needed_meanwhile() const {
  return std::max(quorum(list_), quorum(next_));
}

/// Why a step cannot be made at this stage.
Error MembersChange::not_now(const char* step) const {
  const std::string begin = std::string("cannot ") + step + ": ";
  switch (stage_) {
    case Stage::unknown:
      return too_few(
          begin +
          "no node that answers says which list of nodes governs; bring the nodes up, or "
          "found the list with quorumlock enroll --new");
    case Stage::agreed:
      return unsafe(begin + "the nodes vote for " + in_braces(list_) + " already");
    case Stage::differs:
      return unsafe(begin + "the nodes vote for " + in_braces(list_) +
                    ", and no change is announced: begin with quorumlock members announce");
    case Stage::announced:
      return unsafe(begin + "the change to " + in_braces(next_) + " is only announced");
    case Stage::committed:
      return unsafe(begin + "the change to " + in_braces(next_) +
                    " is decided: finish it with quorumlock members commit");
    case Stage::other: break;
  }
  const bool decided = furthest_->phase == MembersPhase::unsettled;
  return unsafe(begin + "a change from " + in_braces(furthest_->from) + " to " +
                in_braces(furthest_->to) + (decided ? " is decided" : " is announced") +
                ": with those nodes in the configuration, " +
                (decided ? "finish it with quorumlock members commit first"
                         : "finish it, or take it back with quorumlock members withdraw"));
}

/// The error if a step has to wait for these nodes, which do not vote.
Error MembersChange::restarted(const std::string& begin, const NodeNames& nodes) const {
  return {Errc::timed_out, begin + "no vote yet from " + names_in_words(nodes) +
                               ", after a restart or as a new node: wait, or, if no client with "
                               "the old nodes runs, call quorumlock enroll with " +
                               in_braces(list_)};
}

Result<void> MembersChange::may_announce() const {
  if (stage_ == Stage::announced) return {};  // a node that was away can learn of it now
  if (stage_ != Stage::differs) return not_now("announce the change");
  if (std::ranges::adjacent_find(next_) != next_.end()) {
    return unsafe("cannot announce the change: two nodes of the new list have one name, " +
                  *std::ranges::adjacent_find(next_) + ": name each server once");
  }
  const NodeNames both = common();
  const int quorum_before = quorum(list_);
  if (static_cast<int>(both.size()) < quorum_before) {
    const NodeNames left = without(list_, next_);
    return unsafe(
        "cannot announce the change from " + in_braces(list_) + " to " + in_braces(next_) +
        ": the lists share " + std::to_string(both.size()) +
        (both.size() == 1 ? " node, and " : " nodes, and ") + std::to_string(quorum_before) +
        " are needed to remember who holds what. Change fewer at a time" +
        (left.size() > 1 ? ", such as " + left.front() + " alone"
                         : ": add a node first, and remove " + left.front() + " after that"));
  }
  NodeNames not_yet, away;
  for (const Node& node : nodes_) {
    const bool is_old = is_member(list_, node.called());
    if (is_old && node.reached && !node.membership) not_yet.push_back(node.called());
    if (!is_old && !node.reached) away.push_back(node.called());
  }
  if (!away.empty()) {
    return too_few("cannot announce the change: no answer from " + names_in_words(away) +
                   ": nodes that are to join have to run first");
  }
  if (!not_yet.empty()) return restarted("cannot announce the change yet: ", not_yet);
  const int settled = count_at(MembersPhase::settled);
  if (settled >= quorum_before) return {};
  return too_few("cannot announce the change: only " + of(settled, list_.size()) +
                 " nodes of the list answer, and " + std::to_string(quorum_before) +
                 " are needed: bring the others up. If they are gone for good, stop all clients, "
                 "wait for max_ttl, and found the new list with quorumlock enroll --new --force");
}

Result<void> MembersChange::serves_next() const {
  if (stage_ != Stage::differs) return {};
  const std::size_t both = common().size();
  const NodeNames away = common_but(MembersPhase::settled, false);
  const auto there = static_cast<int>(both - away.size());
  if (away.empty() || there >= quorum(list_)) return {};
  return too_few("cannot announce the change: " + of(there, both) +
                 " nodes of both lists answer, and clients with the new nodes need " +
                 std::to_string(quorum(list_)) + ": bring up " + names_in_words(away) + " first");
}

Result<void> MembersChange::may_commit() const {
  if (stage_ == Stage::committed) return {};
  if (stage_ != Stage::announced) return not_now("commit the change");
  const auto other = std::ranges::find_if(nodes_, [&](const Node& node) {
    return node.membership && node.membership->phase == MembersPhase::announced &&
           node.membership->founding == furthest_->founding &&
           node.membership->epoch == furthest_->epoch && node.membership->to != next_;
  });
  if (other != nodes_.end()) {
    return unsafe("cannot commit the change: a change to " + in_braces(other->membership->to) +
                  " is announced on " + other->called() +
                  ": take both back with quorumlock members withdraw, and announce one of them");
  }
  const int announced = count_at(MembersPhase::announced);
  if (announced < quorum(list_)) {
    return too_few("cannot commit the change: it is announced on " + of(announced, list_.size()) +
                   " nodes, and " + std::to_string(quorum(list_)) +
                   " are needed: bring the others up, then run quorumlock members announce again");
  }
  const auto both = static_cast<int>(common().size());
  const NodeNames away = common_but(MembersPhase::announced, false);
  const NodeNames waiting = common_but(MembersPhase::announced, true);
  const int there = both - static_cast<int>(away.size());
  const int well = there - static_cast<int>(waiting.size());
  // If the lists share fewer nodes, there is a pause whatever is up, as the plan has said.
  const int wanted = std::min(needed_meanwhile(), both);
  if (well >= wanted) return {};
  const std::string because = of(well, common().size()) +
                              " nodes of both lists vote, and locks need " +
                              std::to_string(wanted) + " of them until the new nodes vote: ";
  if (there < wanted) {
    return too_few("cannot commit the change: " + because + "bring up " + names_in_words(away));
  }
  for (const Step& missed : announcing()) {
    if (!is_member(waiting, missed.as.name)) continue;
    return too_few("cannot commit the change: " + because + missed.as.name +
                   " has missed the announcement: run quorumlock members announce again");
  }
  return restarted("cannot commit the change yet: " + because, waiting);
}

Result<void> MembersChange::may_withdraw() const {
  // A change to any list may be withdrawn.
  if (furthest_ && furthest_->phase == MembersPhase::announced) return {};
  if (stage_ != Stage::differs) return not_now("withdraw the change");
  return unsafe("no change is announced: there is nothing to withdraw");
}

Result<void> MembersChange::may_settle() const {
  if (stage_ == Stage::agreed) return {};
  if (stage_ != Stage::committed) return not_now("settle the change");
  int needed = quorum(list_);
  if (planted(Mutant::committed_on_too_few)) --needed;
  if (planted(Mutant::committed_on_n_minus_q)) needed = static_cast<int>(list_.size()) - needed + 1;
  const auto found = static_cast<int>(to_read().size());
  if (settled_node() >= 0 || found >= needed) return {};
  return too_few("cannot settle the change: it is decided on " + of(found, common().size()) +
                 " nodes of both lists, and " + std::to_string(needed) +
                 " are needed: bring the others up, then run quorumlock members commit again");
}

/// Makes a step to this state for each node whose record may become it.
template <class RecordOf>
std::vector<MembersChange::Step> MembersChange::steps_to(const Membership& as,
                                                         RecordOf record_of) const {
  std::vector<Step> steps;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (!node.membership || node.membership->founding != furthest_->founding) continue;
    Record record = record_of(node, *node.membership);
    if (!record) continue;
    Step& one = steps.emplace_back(Step{i, *std::move(record), as.for_node(node.called())});
    one.record.members = one.as.mark();
  }
  return steps;
}

std::uint32_t MembersChange::epoch() const {
  return furthest_->phase == MembersPhase::unsettled ? furthest_->epoch - 1 : furthest_->epoch;
}

/// The record of a node of the list before the change, as it is once the node has settled that
/// list. A node that has missed steps of an earlier change makes them all, as the other nodes have,
/// and takes the floor of the nodes that have settled. Unset if no step leads there.
Record MembersChange::brought_to_list(const Node& node) const {
  if (!is_member(list_, node.called())) return std::nullopt;
  const Membership& its = *node.membership;
  const bool decided = its.phase == MembersPhase::unsettled;
  const NodeNames& was = its.phase == MembersPhase::settled ? its.to : its.from;
  if (its.epoch == epoch() && !decided) return was == list_ ? node.enrolment : std::nullopt;
  const bool unsettled = its.epoch == epoch() && its.to == list_ && its.may_vote();
  const bool behind = its.epoch + 1 == epoch() && !decided && is_member(was, node.called());
  if (!unsettled && !behind) return std::nullopt;
  const std::uint64_t settled =
      Membership{furthest_->founding, epoch(), MembersPhase::settled, {}, {}, list_}.rank();
  Record record = node.enrolment;
  for (const Node& other : nodes_) {
    if (!other.membership || other.membership->founding != furthest_->founding) continue;
    if (other.membership->rank() < settled) continue;
    record->floor = std::max(record->floor, other.enrolment->floor);
    record->since = std::max(record->since, other.enrolment->since);
  }
  return record;
}

std::vector<MembersChange::Step> MembersChange::announcing() const {
  return steps_to({furthest_->founding, epoch(), MembersPhase::announced, {}, list_, next_},
                  [&](const Node& node, const Membership& its) -> Record {
                    const bool again = its.phase == MembersPhase::announced && its.epoch == epoch();
                    return again ? std::nullopt : brought_to_list(node);
                  });
}

std::vector<MembersChange::Step> MembersChange::committing() const {
  return steps_to({furthest_->founding, epoch() + 1, MembersPhase::unsettled, {}, list_, next_},
                  [&](const Node& node, const Membership& its) -> Record {
                    // Once the change is decided, a node that has not heard of it hears of both
                    // steps at once.
                    const bool announced = its.phase == MembersPhase::announced && its.to == next_;
                    if (!announced && planted(Mutant::nodes_left_behind)) return std::nullopt;
                    return announced || stage_ == Stage::committed ? brought_to_list(node)
                                                                   : std::nullopt;
                  });
}

std::vector<MembersChange::Step> MembersChange::withdrawing() const {
  return steps_to({furthest_->founding, epoch(), MembersPhase::settled, {}, {}, list_},
                  [&](const Node& node, const Membership& its) -> Record {
                    const bool announced = its.phase == MembersPhase::announced &&
                                           its.epoch == furthest_->epoch && its.from == list_;
                    return announced ? node.enrolment : std::nullopt;
                  });
}

std::vector<MembersChange::Step> MembersChange::settling(std::uint64_t floor,
                                                         std::int64_t since) const {
  if (planted(Mutant::counters_not_repaired)) floor = 0;
  const Membership as{furthest_->founding, furthest_->epoch, MembersPhase::settled, {}, {}, next_};
  return steps_to(as, [&](const Node& node, const Membership& its) -> Record {
    if (!is_member(next_, node.called()) || its == as.for_node(node.called())) return std::nullopt;
    const bool unsettled = its.epoch == furthest_->epoch && its.phase == MembersPhase::unsettled &&
                           its.to == next_ && its.may_vote();
    // A node that is one change behind has missed steps that all apply to it, whichever list was
    // announced to it: every list of its epoch that could be decided is decided.
    Record record = unsettled ? node.enrolment : brought_to_list(node);
    if (!record) return std::nullopt;
    record->floor = std::max(record->floor, floor);
    record->since = std::max(record->since, since);
    return record;
  });
}

int MembersChange::settled_node() const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool settled = is_at(nodes_[i], MembersPhase::settled);
    if (settled && nodes_[i].membership->to == next_) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> MembersChange::to_read() const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (is_member(common(), node.called()) && is_at(node, MembersPhase::unsettled)) {
      found.push_back(i);
    }
  }
  found.resize(std::min(found.size(), static_cast<std::size_t>(quorum(list_))));
  return found;
}

core::Duration MembersChange::max_ttl() const {
  std::int64_t most = 0;
  for (const Node& node : nodes_) {
    if (node.enrolment) most = std::max(most, node.enrolment->terms.max_ttl_ms);
  }
  return std::chrono::milliseconds(most);
}

}  // namespace quorumlock::redis
