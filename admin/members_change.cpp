#include "admin/members_change.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <quorumlock/options.hpp>

#include "lock/counter_bound.hpp"
#include "lock/mutants.hpp"
#include "lock/quorum.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"

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

/// Nodes, and the terms by which clients lock on them.
struct List {
  NodeNames nodes;
  ListTerms terms;
  bool operator==(const List&) const = default;
};
/// The list before the change that a node with this membership speaks of; the only one if it is
/// settled.
List before(const Membership& its) {
  if (its.phase == ListPhase::settled) return {its.to, its.to_terms};
  return {its.from, its.from_terms};
}
List after(const Membership& its) {
  return {its.to, its.to_terms};
}

/// Whether a node with this membership says that this list governs, or governed, in this epoch. A
/// node at any step of a change says so of the list before it.
bool speaks_for(const Membership& its, std::uint32_t epoch, const List& list) {
  const bool decided = its.phase == ListPhase::unsettled;
  return its.epoch == epoch + (decided ? 1 : 0) && before(its) == list;
}

/// Whether a node with this membership is committed to the change from the one list, of this epoch,
/// to the other, or is further on.
bool is_committed(const Membership& its, std::uint32_t epoch, const List& from, const List& to) {
  const bool decided = its.phase == ListPhase::unsettled;
  return (decided && its.epoch == epoch + 1 && before(its) == from && after(its) == to) ||
         speaks_for(its, epoch + 1, to);
}

}  // namespace

MembersChange::MembersChange(std::vector<Node> nodes, std::uint64_t counts, const NamedTerms& named)
    : nodes_(std::move(nodes)), counts_(counts) {
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
  next_terms_ = named.over(terms_);  // those of a list that is founded
  if (foundings.empty()) return;
  const std::uint64_t founding =
      std::ranges::max_element(foundings, {}, [](const auto& one) { return one.second; })->first;
  choose_list(founding);
  next_terms_ = named.over(terms_);
  // A change under way to our nodes is ours, too, if we do not name other terms than it has.
  for (const Node& node : nodes_) {
    const Membership* const its = node.membership ? &*node.membership : nullptr;
    if (its == nullptr || its->founding != founding || its->phase == ListPhase::settled) continue;
    if (before(*its) == List{list_, terms_} && its->to == next_ && named.allow(its->to_terms)) {
      next_terms_ = its->to_terms;
      break;
    }
  }
  choose_stage(founding);
  std::vector<std::uint64_t> floors;
  for (const Node& node : nodes_) {
    if (node.membership && is_member(list_, node.called())) floors.push_back(node.enrolment->floor);
  }
  const std::uint64_t most = counts_up_to(std::move(floors));
  for (Node& node : nodes_) node.bad_floor = node.membership && node.enrolment->floor > most;
}

template <class Is>
NodeNames MembersChange::names_if(Is is) const {
  NodeNames names;
  for (const Node& node : nodes_) {
    if (node.membership && is(node, *node.membership)) names.push_back(node.called());
  }
  std::ranges::sort(names);
  return names;
}

/// Chooses the list that governs, or governed before the change under way: of those for which
/// enough nodes speak, the newest. Nodes that have settled the list after it speak for it, too, if
/// some node says that the one follows the other.
void MembersChange::choose_list(std::uint64_t founding) {
  int most = 0;
  for (const Node& node : nodes_) {
    if (!node.membership || node.membership->founding != founding) continue;
    const Membership& its = *node.membership;
    const bool decided = its.phase == ListPhase::unsettled;
    const List whole = before(its);
    const NodeNames& list = whole.nodes;
    const std::uint32_t epoch = decided ? its.epoch - 1 : its.epoch;
    const NodeNames speak = names_if([&](const Node&, const Membership& other) {
      return other.founding == founding &&
             (speaks_for(other, epoch, whole) ||
              (decided && is_committed(other, epoch, whole, after(its))));
    });
    const Membership as{founding, epoch, ListPhase::settled, {}, {}, list, {}, whole.terms};
    const int count = count_of(list, speak);
    // For a list of one or two nodes one would be enough, if no other node knew better. A node that
    // has heard of the change to it may only be behind.
    const NodeNames others = names_if([&](const Node&, const Membership& other) {
      return other.phase == ListPhase::settled || after(other) != whole;
    });
    const bool alone = speak.size() < 2 && !without(others, speak).empty();
    const bool certain =
        (as.is_vouched_for_by(speak) && !alone) || planted(Mutant::settled_on_one_word);
    const bool newer = epoch > epoch_;
    const bool better = certain != is_certain_
                            ? certain
                            : (certain ? newer : count > most || (count == most && newer));
    if (most != 0 && !better) continue;
    most = std::max(count, 1);
    is_certain_ = certain;
    epoch_ = epoch;
    list_ = list;
    terms_ = whole.terms;
  }
  state_ = Membership{founding, epoch_, ListPhase::settled, {}, {}, list_, {}, terms_};
}

/// Chooses the change that is under way. Ours is, as soon as one node says so, since all that
/// follows counts the nodes; any other one if it is more than the word of a single node, or if so
/// few nodes remember anything that nothing can be done, and the list has to be found.
void MembersChange::choose_stage(std::uint64_t founding) {
  const List from{list_, terms_}, next{next_, next_terms_};
  stage_ = from == next ? Stage::agreed : Stage::differs;
  const Membership list = *state_;
  std::optional<Membership> announced, decided;
  for (const Node& node : nodes_) {
    if (!node.membership || node.membership->founding != founding) continue;
    const List to = after(*node.membership);
    if (to == from) continue;
    const NodeNames come = names_if([&](const Node&, const Membership& other) {
      return other.founding == founding && is_committed(other, epoch_, from, to);
    });
    const Membership heard{founding, epoch_,  ListPhase::announced, {}, list_, to.nodes,
                           terms_,   to.terms};
    const int all = count_of(list_, names_if([&](const Node&, const Membership& other) {
                               return other == heard.for_node(other.name);
                             })) +
                    count_of(list_, come);
    const bool ours = to == next;
    if (list.is_vouched_for_by(come) && (!decided || ours)) {
      decided = Membership{founding, epoch_ + 1, ListPhase::unsettled, {}, list_, to.nodes,
                           terms_,   to.terms};
    }
    const int least = ours ? 1 : std::min(2, list.vouchers_needed());
    if (all >= least && (!announced || ours)) {
      announced = heard;
    }
  }
  if (!announced && !decided) return;
  state_ = decided ? decided : announced;
  const bool merged = planted(Mutant::two_steps_merged) && decided && after(*state_) != next;
  if (merged) {
    list_ = state_->to;
    terms_ = state_->to_terms;
    epoch_ = state_->epoch;
    state_ = Membership{founding, epoch_, ListPhase::settled, {}, {}, list_, {}, terms_};
    stage_ = Stage::differs;
  } else if (after(*state_) != next) {
    stage_ = Stage::other;
  } else {
    stage_ = decided ? Stage::committed : Stage::announced;
  }
}

std::string MembersChange::terms_in_words(const ListTerms& terms) {
  return "with max_ttl " + to_text(terms.max_ttl()) + " and fencing_memory " +
         to_text(terms.memory());
}

std::string MembersChange::in_words(const NodeNames& list, const ListTerms& terms) const {
  const bool changes = terms_ != next_terms_ || (state_ && state_->to_terms != terms_);
  std::string words = in_braces(list);
  if (changes) words.append(" ").append(terms_in_words(terms));
  return words;
}

bool MembersChange::may_stay_connected(std::string_view mark) const {
  if (!is_mark_of(mark, next_, next_terms_)) return false;
  const bool shorter = next_terms_.max_ttl_ms < terms_.max_ttl_ms;
  if (!shorter || planted(Mutant::followers_kept)) return true;
  return mark != list_mark(next_, {}) && mark != list_mark(next_, {{}, next_terms_.memory_s});
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
  return node.reached && !node.membership && state_ && state_->may_vote(node.called());
}

/// Whether the node is at this phase of the list, or of the change to the new one.
bool MembersChange::is_at(const Node& node, ListPhase phase) const {
  if (!node.membership || node.membership->founding != state_->founding) return false;
  const Membership& its = *node.membership;
  if (its.phase != phase) return false;
  const List list{list_, terms_};
  if (phase == ListPhase::settled) return its.epoch == epoch_ && after(its) == list;
  const std::uint32_t epoch = phase == ListPhase::unsettled ? epoch_ + 1 : epoch_;
  return its.epoch == epoch && before(its) == list && after(its) == List{next_, next_terms_};
}

bool MembersChange::has_come_to(const Node& node, ListPhase phase) const {
  if (!node.membership || node.membership->founding != state_->founding) return false;
  return is_at(node, phase) ||
         is_committed(*node.membership, epoch_, {list_, terms_}, {next_, next_terms_});
}

int MembersChange::count_at(ListPhase phase) const {
  return static_cast<int>(std::ranges::count_if(nodes_, [&](const Node& node) {
    return is_member(list_, node.called()) &&
           (phase == ListPhase::settled ? is_at(node, phase) : has_come_to(node, phase));
  }));
}

NodeNames MembersChange::common_but(ListPhase phase, bool reached) const {
  NodeNames names = common();
  std::erase_if(names, [&](const std::string& name) {
    const auto node = std::ranges::find(nodes_, name, &Node::called);
    return node->reached != reached ||
           (phase == ListPhase::settled ? is_at(*node, phase) : has_come_to(*node, phase));
  });
  return names;
}

bool MembersChange::is_behind(const Node& node) const {
  if (!state_ || !node.membership) return false;
  return node.membership->founding != state_->founding || node.membership->rank() < state_->rank();
}

/// Whether a step of this stage is for this node.
bool MembersChange::has_step(int node) const {
  const auto is_for = [node](const std::vector<Step>& steps) {
    return std::ranges::find(steps, node, &Step::node) != steps.end();
  };
  switch (stage_) {
    case Stage::agreed: return is_for(settling(0, 0, read_first()));
    case Stage::differs: return is_for(announcing());
    case Stage::announced: return is_for(announcing()) || is_for(committing());
    case Stage::committed: return is_for(committing()) || is_for(settling(0, 0, read_first()));
    default: return true;
  }
}

bool MembersChange::is_apart(const Node& node) const {
  return is_at_odds(node) && !may_be_right(node);
}

bool MembersChange::is_further_on(const Node& node) const {
  return is_at_odds(node) && may_be_right(node);
}

/// Whether no step leads from what this node says to the state of the others.
bool MembersChange::is_at_odds(const Node& node) const {
  if (!state_ || !is_certain_ || !node.membership || stage_ == Stage::other) return false;
  if (node.bad_floor) return true;
  if (stage_ == Stage::differs && is_unfinished(node)) return false;
  const bool concerned = is_member(list_, node.called()) || node.in_next;
  const bool changes = state_->phase != ListPhase::settled;
  if (!concerned || (changes ? has_come_to(node, state_->phase) : is_at(node, state_->phase))) {
    return false;
  }
  return !has_step(static_cast<int>(&node - nodes_.data()));
}

/// Whether nodes that do not answer may say the same as this node, which is further on than others:
/// with them it would be the word of enough.
bool MembersChange::may_be_right(const Node& node) const {
  const Membership& its = *node.membership;
  if (node.bad_floor || its.founding != state_->founding || its.rank() <= state_->rank())
    return false;
  NodeNames silent = list_;
  for (const Node& other : nodes_) {
    if (other.reached) std::erase(silent, other.called());
  }
  NodeNames say_so = names_if(
      [&its](const Node&, const Membership& other) { return other == its.for_node(other.name); });
  say_so.insert(say_so.end(), silent.begin(), silent.end());
  return settled(epoch_, list_, terms_).is_vouched_for_by(say_so);
}

bool MembersChange::done() const {
  return stage_ == Stage::agreed && std::ranges::all_of(nodes_, [&](const Node& node) {
           return !node.in_next || is_at(node, ListPhase::settled);
         });
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
    case Stage::agreed: return unsafe(begin + "the nodes vote for " + list_in_words() + " already");
    case Stage::differs:
      return unsafe(begin + "the nodes vote for " + list_in_words() +
                    ", and no change is announced: begin with quorumlock members announce");
    case Stage::announced:
      return unsafe(begin + "the change to " + next_in_words() + " is only announced");
    case Stage::committed:
      return unsafe(begin + "the change to " + next_in_words() +
                    " is decided: finish it with quorumlock members commit");
    case Stage::other: break;
  }
  const bool decided = state_->phase == ListPhase::unsettled;
  return unsafe(begin + "a change from " + in_words(state_->from, state_->from_terms) + " to " +
                in_words(state_->to, state_->to_terms) +
                (decided ? " is decided" : " is announced") +
                ": with those in the configuration, " +
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
  if (next_terms_.memory() / 4 < next_terms_.max_ttl()) {
    return unsafe("cannot announce the change: the new list would be one " +
                  terms_in_words(next_terms_) +
                  ", and fencing_memory must be at least four times max_ttl: name both");
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
  const NodeNames unfinished =
      names_if([this](const Node& node, const Membership&) { return is_unfinished(node); });
  if (!unfinished.empty()) {
    return unsafe(
        "cannot announce the change: " + names_in_words(unfinished) +
        " did not settle the fencing_memory of the change before it: finish that one with "
        "quorumlock members commit, and these in the configuration: " +
        in_braces(list_) + " " + terms_in_words(terms_));
  }
  const int settled = count_at(ListPhase::settled);
  if (settled >= quorum_before) return {};
  return too_few("cannot announce the change: only " + of(settled, list_.size()) +
                 " nodes of the list answer, and " + std::to_string(quorum_before) +
                 " are needed: bring the others up. If they are gone for good, stop all clients, "
                 "wait for max_ttl, and found the new list with quorumlock enroll --new --force");
}

Result<void> MembersChange::serves_next() const {
  if (stage_ != Stage::differs) return {};
  const std::size_t both = common().size();
  const NodeNames away = common_but(ListPhase::settled, false);
  const auto there = static_cast<int>(both - away.size());
  if (away.empty() || there >= quorum(list_)) return {};
  return too_few("cannot announce the change: " + of(there, both) +
                 " nodes of both lists answer, and clients with the new nodes need " +
                 std::to_string(quorum(list_)) + ": bring up " + names_in_words(away) + " first");
}

Result<void> MembersChange::may_commit() const {
  if (stage_ == Stage::committed) return {};
  if (stage_ != Stage::announced) return not_now("commit the change");
  // An announcement of a few other nodes is replaced by ours.
  for (const Node& node : nodes_) {
    if (!node.membership || node.membership->phase != ListPhase::announced) continue;
    const Membership& its = *node.membership;
    if (its.epoch != epoch_ || before(its) != List{list_, terms_} ||
        after(its) == List{next_, next_terms_}) {
      continue;
    }
    const NodeNames heard = names_if(
        [&](const Node&, const Membership& other) { return other == its.for_node(other.name); });
    if (!settled(epoch_, list_, terms_).is_vouched_for_by(heard)) continue;
    return unsafe("cannot commit the change: a change to " + in_braces(its.to) +
                  " is announced on " + names_in_words(heard) +
                  ": take both back with quorumlock members withdraw, and announce one of them");
  }
  if (Result<void> announced = is_announced(); !announced) return announced;
  // From then on a lock needs a majority of either list.
  const auto both = static_cast<int>(common().size());
  const NodeNames away = common_but(ListPhase::announced, false);
  NodeNames waiting = common_but(ListPhase::announced, true);
  const int there = both - static_cast<int>(away.size());
  const int well = there - static_cast<int>(waiting.size());
  const NodeNames new_and_well = names_if([this](const Node& node, const Membership&) {
    return node.in_next && has_come_to(node, ListPhase::announced);
  });
  const bool serves_new = static_cast<int>(new_and_well.size()) >= quorum(next_);
  if (well >= quorum(list_) && serves_new) return {};
  const std::string because = of(well, common().size()) + " nodes of both lists and " +
                              of(static_cast<int>(new_and_well.size()), next_.size()) +
                              " of the new one vote, and locks need " +
                              std::to_string(quorum(list_)) + " and " +
                              std::to_string(quorum(next_)) + " of them: ";
  if (there < quorum(list_)) {
    return too_few("cannot commit the change: " + because + "bring up " + names_in_words(away));
  }
  NodeNames gone = away;
  for (const Node& node : nodes_) {
    if (!node.in_next || is_member(list_, node.called()) || node.membership) continue;
    (node.reached ? waiting : gone).push_back(node.called());
  }
  if (waiting.empty()) {
    return too_few("cannot commit the change: " + because + "bring up " + names_in_words(gone));
  }
  for (const Step& missed : announcing()) {
    if (!is_member(waiting, missed.as.name)) continue;
    return too_few("cannot commit the change: " + because + missed.as.name +
                   " has missed the announcement: run quorumlock members announce again");
  }
  return restarted("cannot commit the change yet: " + because, waiting);
}

Result<void> MembersChange::may_withdraw() const {
  // A change to any list may be withdrawn, unless it is decided.
  const bool decided = state_ && state_->phase == ListPhase::unsettled;
  if (state_ && !decided && !withdrawing().empty()) return {};
  if (stage_ != Stage::differs) return not_now("withdraw the change");
  return unsafe("no change is announced: there is nothing to withdraw");
}

Result<void> MembersChange::may_settle() const {
  if (stage_ == Stage::agreed) return {};
  if (stage_ != Stage::committed) return not_now("settle the change");
  int needed = quorum(list_);
  if (planted(Mutant::committed_on_too_few)) --needed;
  if (planted(Mutant::committed_on_n_minus_q)) needed = static_cast<int>(list_.size()) - needed + 1;
  int found = 0;
  NodeNames silent;
  for (const int i : committed()) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (node.old_connections) silent.push_back(node.called());
    if (!node.old_connections) ++found;
  }
  if (found >= needed) return {};
  if (found + static_cast<int>(silent.size()) >= needed) {
    return too_few(
        "cannot settle the change: clients with the old list may still be connected to " +
        names_in_words(silent) +
        ": no answer to CLIENT LIST or CLIENT KILL; run quorumlock members commit again");
  }
  return too_few("cannot settle the change: it is decided on " + of(found, list_.size()) +
                 " nodes of the old list, and " + std::to_string(needed) +
                 " are needed: bring the others up, then run quorumlock members commit again");
}

bool MembersChange::is_still(const Membership& state) const {
  if (planted(Mutant::settled_at_any_stage)) return true;
  if (stage_ == Stage::committed) return *state_ == state;
  return stage_ == Stage::agreed && state_->founding == state.founding &&
         state_->epoch == state.epoch && after(*state_) == after(state);
}

Result<void> MembersChange::is_announced() const {
  if (stage_ == Stage::agreed || stage_ == Stage::committed) return {};
  const int announced = stage_ == Stage::announced ? count_at(ListPhase::announced) : 0;
  if (announced >= quorum(list_)) return {};
  return too_few("the change is announced on " + of(announced, list_.size()) + " nodes, and " +
                 std::to_string(quorum(list_)) +
                 " are needed: bring the others up, then run quorumlock members announce again");
}

Result<void> MembersChange::is_withdrawn() const {
  if (!state_) return {};
  if (state_->phase == ListPhase::unsettled) return not_now("withdraw the change");
  NodeNames names;
  for (const Step& left : withdrawing()) names.push_back(left.as.name);
  if (names.empty()) return {};
  return too_few("a change is still announced on " + names_in_words(names) +
                 ": run quorumlock members withdraw again");
}

Result<void> MembersChange::is_settled() const {
  const int settled = stage_ == Stage::agreed ? count_at(ListPhase::settled) : 0;
  if (settled >= quorum(next_)) return {};
  return too_few("the list is settled on " + of(settled, next_.size()) + " nodes, and " +
                 std::to_string(quorum(next_)) +
                 " are needed for a lock: quorumlock members says what is left to do");
}

/// Makes a step to this state for each node whose record may become it.
template <class RecordOf>
std::vector<MembersChange::Step> MembersChange::steps_to(const Membership& as,
                                                         RecordOf record_of) const {
  std::vector<Step> steps;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (!node.membership || node.membership->founding != state_->founding) continue;
    Record record = record_of(node, *node.membership);
    if (!record) continue;
    Step& one = steps.emplace_back(Step{i, *std::move(record), as.for_node(node.called())});
    one.record.members = one.as.mark();
  }
  return steps;
}

/// Whether this node has missed the decision for the list, which is known to govern: it stands at
/// the list before that, or was let in late.
bool MembersChange::is_one_behind(const Node& node) const {
  const Membership& its = *node.membership;
  const bool joined = its.phase == ListPhase::announced && after(its) == List{list_, terms_};
  return is_certain_ && is_member(list_, node.called()) && its.epoch + 1 == epoch_ &&
         its.phase != ListPhase::unsettled &&
         (joined || is_member(before(its).nodes, node.called()));
}

/// Whether this node is committed to the new list, which it has not settled.
bool MembersChange::is_to_settle(const Node& node) const {
  const Membership& its = *node.membership;
  const bool decided = stage_ == Stage::committed;
  return its.phase == ListPhase::unsettled && its.epoch == epoch_ + (decided ? 1 : 0) &&
         after(its) == List{next_, next_terms_} && (decided || is_certain_);
}

/// Whether a node with this membership settles a longer fencing_memory than it had.
bool MembersChange::grows_memory(const Membership& its) const {
  if (planted(Mutant::own_counters_not_read)) return false;
  if (stage_ == Stage::committed) return terms_.memory() < next_terms_.memory();
  return before(its).terms.memory() < terms_.memory();
}

bool MembersChange::is_unfinished(const Node& node) const {
  const Membership& its = *node.membership;
  const bool committed = is_member(list_, node.called()) && its.phase == ListPhase::unsettled &&
                         its.epoch == epoch_ && after(its) == List{list_, terms_};
  return its.founding == state_->founding && is_certain_ &&
         before(its).terms.memory() < terms_.memory() && (committed || is_one_behind(node)) &&
         !planted(Mutant::own_counters_not_read);
}

/// The record of a node of the list before the change, as it is once the node has settled that
/// list. A node that has missed steps of an earlier change makes them all, as the other nodes have,
/// and takes the floor of the nodes that have settled. Unset if no step leads there.
Record MembersChange::brought_to_list(const Node& node) const {
  if (!is_member(list_, node.called())) return std::nullopt;
  const Membership& its = *node.membership;
  const List list{list_, terms_};
  const bool decided = its.phase == ListPhase::unsettled;
  if (its.epoch == epoch_ && !decided) return before(its) == list ? node.enrolment : std::nullopt;
  const bool unsettled = is_certain_ && its.epoch == epoch_ && after(its) == list && its.may_vote();
  if (!unsettled && !is_one_behind(node)) return std::nullopt;
  // A longer fencing_memory is settled by settling() alone.
  const bool grows = before(its).terms.memory() < terms_.memory();
  if (grows && !planted(Mutant::own_counters_not_read)) return std::nullopt;
  const std::uint64_t rank = settled(epoch_, list_, terms_).rank();
  Record record = node.enrolment;
  for (const Node& other : nodes_) {
    if (!other.membership || other.membership->founding != state_->founding) continue;
    if (other.membership->rank() < rank || other.bad_floor) continue;
    record->floor = std::max(record->floor, other.enrolment->floor);
    record->since = std::max(record->since, other.enrolment->since);
  }
  return record;
}

std::vector<MembersChange::Step> MembersChange::announcing() const {
  if (List{list_, terms_} == List{next_, next_terms_}) return {};  // that is no change
  return steps_to(changing(ListPhase::announced),
                  [&](const Node& node, const Membership&) -> Record {
                    const bool again = has_come_to(node, ListPhase::announced);
                    return again ? std::nullopt : brought_to_list(node);
                  });
}

std::vector<MembersChange::Step> MembersChange::committing() const {
  return steps_to(changing(ListPhase::unsettled),
                  [&](const Node& node, const Membership&) -> Record {
                    // A new node may have been let in. Once the change is decided, a node that has
                    // not heard of it hears of both steps at once.
                    if (is_at(node, ListPhase::announced)) return node.enrolment;
                    if (has_come_to(node, ListPhase::unsettled)) return std::nullopt;
                    if (planted(Mutant::nodes_left_behind)) return std::nullopt;
                    return stage_ == Stage::committed ? brought_to_list(node) : std::nullopt;
                  });
}

/// Takes back what was announced for any list. A new node that was let in is not of the list.
std::vector<MembersChange::Step> MembersChange::withdrawing() const {
  std::vector<Step> steps = steps_to(
      settled(epoch_, list_, terms_), [&](const Node& node, const Membership& its) -> Record {
        const bool announced = its.phase == ListPhase::announced && its.epoch == epoch_ &&
                               before(its) == List{list_, terms_};
        return announced ? node.enrolment : std::nullopt;
      });
  for (Step& step : steps) step.forgets = !is_member(list_, step.as.name);
  return steps;
}

std::vector<MembersChange::Step> MembersChange::forgetting() const {
  std::vector<Step> steps;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (is_apart(node)) steps.push_back({i, *node.enrolment, *node.membership, true});
  }
  return steps;
}

std::vector<std::string> MembersChange::command(const Step& step) const {
  const std::string& record = nodes_[static_cast<std::size_t>(step.node)].record;
  if (step.forgets) {
    return {"EVAL", std::string(release_script.source), "0", std::string(enrolment_key), record};
  }
  return {"EVAL",
          std::string(adopt_script.source),
          "3",
          std::string(enrolment_key),
          std::string(candidate_key),
          std::string(members_key),
          record,
          step.record.to_string(),
          step.as.text()};
}

/// Commits the nodes of the new list that have missed the decision for a longer fencing_memory.
std::vector<MembersChange::Step> MembersChange::committing_late() const {
  std::vector<Step> late;
  if (stage_ == Stage::committed) {
    late = committing();
    std::erase_if(late, [this](const Step& step) {
      return !is_member(next_, step.as.name) || !grows_memory(step.as);
    });
    return late;
  }
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (!node.membership || node.membership->founding != state_->founding) continue;
    if (!is_one_behind(node) || !grows_memory(*node.membership)) continue;
    const List was = before(*node.membership);
    Membership as{state_->founding, epoch_, ListPhase::unsettled, {}, was.nodes, list_,
                  was.terms,        terms_};
    Step& one = late.emplace_back(Step{i, *node.enrolment, as.for_node(node.called())});
    one.record.members = one.as.mark();
  }
  return late;
}

std::vector<MembersChange::Step> MembersChange::settling(std::uint64_t floor, std::int64_t since,
                                                         const std::vector<int>& read) const {
  const bool may = stage_ == Stage::agreed || stage_ == Stage::committed;
  if (!may && !planted(Mutant::settled_at_any_stage)) return {};
  if (planted(Mutant::counters_not_repaired)) floor = 0;
  const std::uint32_t epoch = stage_ == Stage::committed ? epoch_ + 1 : epoch_;
  const Membership as = settled(epoch, next_, next_terms_);
  std::vector<Step> steps = steps_to(as, [&](const Node& node, const Membership& its) -> Record {
    if (!is_member(next_, node.called()) || its == as.for_node(node.called())) return std::nullopt;
    const bool unsettled = is_to_settle(node);
    const bool announced = stage_ == Stage::committed && is_at(node, ListPhase::announced);
    const bool is_read =
        std::ranges::find(read, static_cast<int>(&node - nodes_.data())) != read.end();
    if (grows_memory(its) && !(unsettled && is_read)) return std::nullopt;
    // A node that is one change behind has missed steps that all apply to it, whichever list was
    // announced to it: every list of its epoch that could be decided is decided.
    Record record = unsettled || announced ? node.enrolment : brought_to_list(node);
    if (!record) return std::nullopt;
    record->floor = std::max(record->floor, floor);
    record->since = std::max(record->since, since);
    return record;
  });
  const std::vector<Step> late = committing_late();
  steps.insert(steps.end(), late.begin(), late.end());
  return steps;
}

std::vector<int> MembersChange::read_first() const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (!node.membership || node.membership->founding != state_->founding) continue;
    if (is_member(next_, node.called()) && is_to_settle(node) && grows_memory(*node.membership)) {
      found.push_back(i);
    }
  }
  return found;
}

int MembersChange::settled_node() const {
  int found = -1;
  std::uint64_t greatest = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (stage_ != Stage::agreed || !is_at(nodes_[i], ListPhase::settled)) continue;
    if (nodes_[i].bad_floor) continue;
    const std::uint64_t floor = nodes_[i].enrolment->floor;
    if (found < 0 || floor > greatest) found = static_cast<int>(i);
    greatest = std::max(greatest, floor);
  }
  return found;
}

std::vector<int> MembersChange::committed() const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[static_cast<std::size_t>(i)];
    if (is_member(list_, node.called()) && has_come_to(node, ListPhase::unsettled)) {
      found.push_back(i);
    }
  }
  return found;
}

std::vector<int> MembersChange::to_read() const {
  std::vector<int> found = committed();
  std::erase_if(found, [this](int i) { return nodes_[static_cast<std::size_t>(i)].bad_floor; });
  return found;
}

int MembersChange::sources_needed() const {
  if (planted(Mutant::scan_of_too_few)) return 1;
  return quorum(list_);
}

std::uint64_t MembersChange::counts_up_to(std::vector<std::uint64_t> numbers) const {
  if (planted(Mutant::bad_floors_believed)) return std::numeric_limits<std::uint64_t>::max();
  const int least = static_cast<int>(list_.size()) - quorum(list_) + 1;
  return std::max(counts_, core::shared_by(least, std::move(numbers)));
}

std::uint64_t MembersChange::floor_of_expired(std::int64_t now, const ListTerms& before) const {
  if (stage_ != Stage::committed && stage_ != Stage::agreed) return 0;
  if (next_terms_.memory() <= before.memory()) return 0;
  if (planted(Mutant::expired_not_in_the_floor)) return 0;
  const std::int64_t floor = now - before.memory() / 2 / std::chrono::microseconds(1);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(floor, 0));
}

Membership MembersChange::settled(std::uint32_t epoch, const NodeNames& list,
                                  const ListTerms& terms) const {
  return {state_->founding, epoch, ListPhase::settled, {}, {}, list, {}, terms};
}

Membership MembersChange::changing(ListPhase phase) const {
  const std::uint32_t epoch = phase == ListPhase::unsettled ? epoch_ + 1 : epoch_;
  return {state_->founding, epoch, phase, {}, list_, next_, terms_, next_terms_};
}

}  // namespace quorumlock::redis
