#include "sim/world/last_operator.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "sim/world/records.hpp"
#include "sim/world/recovery.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::MembersChange;
using redis::NodeNames;
using Stage = MembersChange::Stage;

namespace {

/// The number of looks that the last operator has; each of them takes max_ttl and some seconds.
constexpr int most_looks = 24;
/// If the change has not ended after this number of looks, the last operator does what the messages
/// say then: it vouches for nodes that forgot.
constexpr int patient_looks = 6;

/// Whether a node with the membership `its` is at a decided change, or only has to be sent that
/// change, and perhaps steps of the change before. (Asking the library would hide its mistakes.) A
/// node that was enrolled in another founding meanwhile has forgotten this one, and takes no step
/// of it.
bool takes_steps_to(const redis::Membership& its, const redis::Membership& decided) {
  if (its.founding != decided.founding) return false;
  const bool settled = its.phase == ListPhase::settled;
  const bool unsettled = its.phase == ListPhase::unsettled;
  const NodeNames& was = settled ? its.to : its.from;
  if (its.epoch == decided.epoch) return its.to == decided.to;
  const NodeNames& then = unsettled ? its.to : was;
  if (its.epoch + 1 == decided.epoch) {
    // A settled list does not say which one was before it. A removed node does not hear of it.
    return decided.phase == ListPhase::settled ? redis::is_member(then, its.name)
                                               : then == decided.from;
  }
  return its.epoch + 2 == decided.epoch && !unsettled && redis::is_member(was, its.name);
}

}  // namespace

/// Looks at all nodes at one moment.
Look LastOperator::look_at_all(const NodeNames& next) const {
  Look look;
  look.by = world_.operators.count();
  look.begun = core::Time(1h + now());
  for (int node = 0; node < draw_.servers(); ++node) {
    const Server& server = node_at(node);
    MembersChange::Node& seen = look.nodes.emplace_back();
    seen.name = name_of(node);
    seen.in_next = redis::is_member(next, seen.name);
    seen.carries(server.run().name(), text_of(server, redis::enrolment_key, now()),
                 text_of(server, redis::members_key, now()));
    look.servers.push_back(node);
  }
  return look;
}

/// The greatest of the counters and floors of these nodes that counts.
std::uint64_t LastOperator::floor_of(const Look& look, const MembersChange& change) const {
  std::vector<std::uint64_t> numbers;
  for (const int source : change.to_read()) {
    numbers.push_back(world_.operators.greatest_number(look, static_cast<std::size_t>(source)));
  }
  const std::uint64_t most = change.counts_up_to(numbers);
  std::erase_if(numbers, [most](std::uint64_t number) { return number > most; });
  return numbers.empty() ? 0 : std::ranges::max(numbers);
}

/// Whether a decided change cannot be ended, because operators did not ask whether it could be, or
/// decided two changes. They have to stop all clients then, and found the list anew.
bool LastOperator::is_stranded(const Look& look) const {
  const std::optional<redis::Membership> furthest = world_.lists.governing();
  if (!furthest || furthest->phase == ListPhase::announced) return false;
  const redis::Membership& as = *furthest;
  // A settled list has forgotten which one was before it, so that only its own nodes are asked for.
  const NodeNames& from = as.phase == ListPhase::settled ? as.to : as.from;
  int can = 0;
  bool any = false;
  for (const MembersChange::Node& node : look.nodes) {
    if (!redis::is_member(from, node.called())) continue;
    const bool takes_part = node.membership && takes_steps_to(*node.membership, as);
    const bool stays = redis::is_member(as.to, node.called());
    if (takes_part || (!node.membership && stays)) ++can;
    any = any || (takes_part && stays);
  }
  return can < redis::quorum(from) || !any;  // nobody could vouch for the others
}

/// Whether a list is announced to change, and fewer than a quorum of its nodes remember it, or
/// fewer of those that stay than a commit asks for. An operator can vouch for the other nodes only
/// with a configuration of that list, which the last operator does not have. A node that has missed
/// two changes, or was removed and has not heard that it was taken back, can only come back without
/// its record, if enough others vouch for it.
bool LastOperator::is_forgotten(const MembersChange& change) {
  if (!change.state() || change.state()->phase != ListPhase::announced) return false;
  const redis::Membership& as = *change.state();
  int remember = 0, stay = 0;
  for (const MembersChange::Node& node : change.nodes()) {
    const bool stays = redis::is_member(as.to, node.called());
    if (!redis::is_member(as.from, node.called())) continue;
    if (!node.membership || node.membership->founding != as.founding) continue;
    const redis::Membership& its = *node.membership;
    const NodeNames& was = its.phase == ListPhase::announced ? its.from : its.to;
    const bool one_behind = its.epoch + 1 == as.epoch && redis::is_member(was, its.name);
    if (its.epoch != as.epoch && !one_behind) continue;
    ++remember;
    stay += stays ? 1 : 0;
  }
  return remember < redis::quorum(as.from) || stay < redis::quorum(as.from);
}

/// Whether operators who did not ask have decided two changes of one list. The nodes may follow one
/// of them, or none: then the operator has to stop all clients and found the list anew.
bool LastOperator::is_decided_twice(const Look& look) {
  for (const MembersChange::Node& one : look.nodes) {
    for (const MembersChange::Node& other : look.nodes) {
      if (!one.membership || !other.membership) continue;
      const redis::Membership& its = *one.membership;
      const redis::Membership& others = *other.membership;
      if (its.founding != others.founding || its.epoch != others.epoch) continue;
      const bool both = its.phase != ListPhase::announced && others.phase != ListPhase::announced;
      if (both && its.to != others.to) return true;
    }
  }
  return false;
}

/// Makes the next step of the change to this list, on all nodes. Returns whether the list is
/// settled everywhere.
bool LastOperator::make_next_step(const Look& look, redis::SettlementWait& wait, NodeNames& next) {
  const MembersChange change(look.nodes, counts_up_to(now()));
  const auto all = [this, &look](const std::vector<MembersChange::Step>& steps, const char* what) {
    for (const MembersChange::Step& step : steps)
      world_.operators.send_step(look, step, what, TrueTime());
  };
  all(change.forgetting(), "makes forget");
  forget_bad_counters();
  switch (change.stage()) {
    case Stage::unknown: return false;
    case Stage::agreed: {
      if (change.done()) return true;
      all(world_.operators.settling_as_others(look, change), "settles");
      return false;
    }
    case Stage::differs:
    case Stage::announced:
      all(change.announcing(), "announces");
      if (const Result<void> may = change.may_commit(); may) {
        all(change.committing(), "commits");
      } else if (may.error().code() == Errc::misconfigured && change.may_withdraw()) {
        all(change.withdrawing(), "withdraws");
      }
      return false;
    case Stage::committed:
      all(change.committing(), "commits");
      if (!change.may_settle()) return false;
      if (wait.after_look(look.begun, look.begun, change.terms().max_ttl()) > 0s) return false;
      all(world_.operators.settling(look, change, floor_of(look, change)), "settles");
      return false;
    case Stage::other:
      if (change.may_withdraw()) {
        all(change.withdrawing(), "withdraws");
      } else {
        next = change.state()->to;
      }
      return false;
  }
  return false;
}

/// The list that the disks of nodes without a valid record have, if there is one: the messages name
/// it. If there are several, this is the one furthest on.
NodeNames LastOperator::list_on_disk() const {
  std::optional<redis::Membership> furthest;
  for (const Server& server : nodes_) {
    const std::optional<redis::Membership> its = membership_on_disk(server, now());
    if (its && (!furthest || its->rank() > furthest->rank())) furthest = its;
  }
  if (!furthest) return world_.lists.first();
  return furthest->phase == ListPhase::announced ? furthest->from : furthest->to;
}

/// Whether the disk of a node of this list has a record by which the node belongs to another list.
bool LastOperator::contradicts(const NodeNames& list) const {
  return std::ranges::any_of(list, [&](const std::string& name) {
    const auto its = membership_on_disk(node_at(server_named(name)), now());
    return its && !redis::refusal_of(*its, list).empty();
  });
}

/// Ends the change that the operators have left, as an operator who follows the messages would.
/// Returns the list that governs then; empty if the nodes cannot agree on one any more.
NodeNames LastOperator::end_change() {
  // The commands that the operators have sent arrive.
  run_until(now() + 9 * draw_.max_ttl);
  redis::SettlementWait wait(0.01);
  std::optional<redis::Membership> present = world_.lists.governing();
  if (!present) {  // Clients found a list. Candidates for other lists end in a minute.
    const NodeNames list = list_on_disk();
    world_.lists.give_all(list);
    run_until(now() + 1min + 4 * draw_.max_ttl);
    // Durable nodes that were all restarted have not forgotten: they had no record of their present
    // run for as long as no client had a list in which enough others vouched for their disks. Once
    // a client has such a list, they have their records again, and the list in these records
    // governs.
    present = world_.lists.governing();
    if (!present && contradicts(list)) {
      trace("the nodes remember other lists than this: the operator has to found it");
      ++figures_.lists_stranded;
      return {};
    }
    if (!present) return list;
  }
  NodeNames next = present->to;
  trace("the last operator ends the change to ", redis::names_in_words(next));
  NodeNames given;
  for (int looks = 0; looks < most_looks && goes_on(); ++looks) {
    const Look look = look_at_all(next);
    for (const MembersChange::Node& node : look.nodes) {
      trace("  ", node.name, ": ",
            node.membership
                ? node.membership->text() + " in epoch " + std::to_string(node.membership->epoch) +
                      " of " + std::to_string(node.membership->founding % 1000)
                : "no record");
    }
    decided_twice_ = decided_twice_ || is_decided_twice(look);
    if (is_stranded(look)) {
      trace("no quorum of nodes can take part: the operator has to found the list anew");
      ++figures_.lists_stranded;
      return {};
    }
    if (make_next_step(look, wait, next)) return next;
    run_until(now() + 1s);
    if (const auto accepted = world_.lists.governing(); accepted->epoch_of(next) && given != next) {
      world_.lists.give_all(next);
      given = next;
      world_.processes.die(clients_.front());  // quorumlock members apply is a new client
    }
    if (looks % patient_looks == patient_looks - 1) {
      // The messages of refused clients name the list that the furthest node votes for.
      if (const std::optional<redis::Membership> furthest = world_.lists.governing()) {
        given = furthest->phase == ListPhase::announced ? furthest->from : furthest->to;
        world_.lists.give_all(given);
      }
      world_.processes.die(clients_.front());
      run_until(now() + draw_.max_ttl * 11 / 10 + 2s);
      world_.foundings.vouched();
      Recovery(world_).vouch();
    }
    run_until(now() + draw_.max_ttl * 11 / 10 + 2s);
  }
  return {};
}

/// Does what quorumlock doctor says of counters that no clock explains.
void LastOperator::forget_bad_counters() {
  if (!draw_.has(Fault::make_up)) return;
  const int node = draw_.nodes - 1;
  Words words{"DEL", std::string(redis::enrolment_key)};
  const DatabaseView seen = node_at(node).at(now());
  for (const auto& [key, value] : seen.keys()) {
    const bool bad = key.starts_with(redis::counter_prefix) &&
                     std::stoull(*seen.text_of(key)) > counts_up_to(now());
    if (bad) words.push_back(key);
  }
  if (words.size() == 2) return;
  trace("the last operator makes node ", node + 1, " forget counters");
  world_.operators.run(node, words);
  checks_.fencing.forgot(node);
}

void LastOperator::make_forget() {
  const Look look = look_at_all(world_.lists.first());
  const MembersChange change(look.nodes, counts_up_to(now()));
  for (const MembersChange::Step& step : change.forgetting()) {
    world_.operators.send_step(look, step, "makes forget", TrueTime());
  }
  forget_bad_counters();
  run_until(now() + 2s);
}

void LastOperator::demand() {
  const NodeNames list = end_change();
  if (!goes_on()) return;
  if (list.empty() && figures_.lists_stranded > 0) return;
  if (list.empty() && (decided_twice_ || is_forgotten(MembersChange(look_at_all({}).nodes)))) {
    ++figures_.lists_stranded;
    return;
  }
  if (list.empty()) return report("the change of the nodes cannot be ended although all is well");
  world_.lists.give_all(list);
  Recovery(world_).demand_progress();
}

}  // namespace quorumlock::sim
