#include "sim/world/operators.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lock/mutants.hpp"
#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "wire/client_name.hpp"
#include "wire/words.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::MembersChange;
using redis::NodeNames;
using Stage = MembersChange::Stage;

namespace {

/// The step after which a node is in this phase.
Step step_of(ListPhase phase) {
  return phase == ListPhase::announced   ? Step::announced
         : phase == ListPhase::unsettled ? Step::committed
                                         : Step::settled;
}

}  // namespace

std::vector<MembersChange::Step> Operators::settling(const Look& look, const MembersChange& change,
                                                     std::uint64_t floor,
                                                     std::int64_t since) const {
  std::vector<int> read;
  for (const int node : change.read_first()) {
    const Server& server = node_at(look.servers[static_cast<std::size_t>(node)]);
    if (!server.running() || server.paused()) continue;
    const std::uint64_t its = greatest_number(look, static_cast<std::size_t>(node));
    if (its > std::max(floor, change.counts_up_to({its}))) continue;
    floor = std::max({floor, its, change.floor_of_expired((1'700'000'000s + now()) / 1us, node)});
    read.push_back(node);
  }
  return change.settling(floor, since, read);
}

std::pair<std::uint64_t, std::int64_t> Operators::settled_floor(const Look& look,
                                                                const MembersChange& change) {
  const int settled = change.settled_node();
  if (settled < 0) return {};
  const redis::EnrolmentRecord& its = *look.nodes[static_cast<std::size_t>(settled)].enrolment;
  return {its.floor, its.since};
}

std::vector<MembersChange::Step> Operators::settling_as_others(const Look& look,
                                                               const MembersChange& change) const {
  const auto [floor, since] = settled_floor(look, change);
  return settling(look, change, floor, since);
}

void Operators::plan() {
  if (draw_.operators == 0) return;
  if (draw_.operators > 1 && !draw_.plan.empty()) {
    after(draw_span(draw_.between_changes), [this] {
      for (int i = 0; i < draw_.operators; ++i) begin(world_.lists.draw(operators_.size()));
    });
  } else {
    for (int i = 0; i < draw_.operators; ++i) plan_operator();
  }
  if (draw_.careful) return;  // clients have the list that operators tell them
  for (const Client& client : clients_) world_.lists.may_differ(client.number);
}

void Operators::plan_operator() {
  after(draw_span(draw_.between_changes), [this] {
    if (!scene_.healing) begin(world_.lists.draw(operators_.size()));
  });
}

void Operators::begin(NodeNames next) {
  Operator& one = operators_.emplace_back();
  one.number = operators_.size() - 1;
  one.next = std::move(next);
  one.named = draw_terms();
  one.rate = rate_within_the_bound(draw_, random_);
  one.reckless =
      !draw_.careful && random_.one_in(4) != (draw_.operators > 1 && !draw_.plan.empty());
  one.withdraws = !draw_.careful && random_.one_in(draw_.plan.empty() ? 8 : 24);
  if (!draw_.plan.empty()) one.looks_left = 60;
  world_.lists.want(one.next);
  trace("OPERATOR ", one.number, " wants ", redis::names_in_words(one.next),
        one.reckless ? ", whatever it sees" : "", one.withdraws ? ", or to withdraw" : "");
  look_at_nodes(one.number);
}

/// The terms that an operator wants: those of the change that is under way, or the others.
redis::NamedTerms Operators::draw_terms() {
  const std::optional<redis::Membership> present = world_.lists.governing();
  if (draw_.other_max_ttl == 0s || !present) return {};
  redis::ListTerms terms = present->to_terms;
  if (present->phase == ListPhase::settled)
    terms = terms_of(draw_, terms == terms_of(draw_, false));
  return {terms.max_ttl_ms, terms.memory_s};
}

void Operators::end(Operator& one, const char* why) {
  one.over = true;
  trace("OPERATOR ", one.number, ' ', why);
  plan_operator();
}

/// Reads the records of each node, at a moment of its own.
void Operators::look_at_nodes(std::size_t number) {
  Operator& one = operators_[number];
  if (one.looks_left-- == 0) return end(one, "gives up");
  const auto look = std::make_shared<Look>();
  look->by = number;
  look->begun = one.local(now());
  NodeNames names = one.next;
  const NodeNames others = redis::without(one.others, one.next);
  names.insert(names.end(), others.begin(), others.end());
  const bool slow = !draw_.careful && random_.one_in(draw_.plan.empty() ? 6 : 24);
  TrueTime last = now();
  for (std::size_t i = 0; i < names.size(); ++i) {
    look->servers.push_back(server_named(names[i]));
    look->nodes.push_back({names[i], i < one.next.size()});
    const TrueTime when = now() + draw_span(slow ? TrueTime(draw_.max_ttl) * 2 : draw_.delay);
    last = std::max(last, when);
    at(when, [this, look, i] {
      const Server& server = node_at(look->servers[i]);
      const bool silent = !server.running() || server.paused() || server.conditions.loading;
      if (silent || (!draw_.careful && random_.one_in(20))) return;
      if (is_out_of_reach(look->by, look->servers[i], Step::announced)) return;
      look->nodes[i].carries(server.run().name(), text_of(server, redis::enrolment_key, now()),
                             text_of(server, redis::members_key, now()));
    });
  }
  at(last + 1ns, [this, look] {
    Operator& looked = operators_[look->by];
    believe(looked, *look);
    for (MembersChange::Node& node : look->nodes) {
      node.old_connections = !draw_.fencing && !looked.wait.are_connections_ended(node.record);
    }
    has_looked(*look);
  });
}

/// The planted mistake: if the operator once saw that a node was committed, it believes that the
/// node still is.
void Operators::believe(Operator& one, Look& look) {
  if (!core::planted(core::Mutant::nodes_seen_once)) return;
  for (MembersChange::Node& node : look.nodes) {
    const bool committed = node.membership && node.membership->phase == ListPhase::unsettled;
    if (committed) {
      one.seen.insert_or_assign(node.name, node);
      continue;
    }
    const auto found = one.seen.find(node.name);
    if (found == one.seen.end()) continue;
    const bool further =
        node.membership && node.membership->rank() > found->second.membership->rank();
    if (!further) node = found->second;
  }
}

void Operators::look_again(Operator& one, TrueTime span) {
  after(span, [this, number = one.number] { look_at_nodes(number); });
}

void Operators::has_looked(const Look& look) {
  Operator& one = operators_[look.by];
  if (scene_.healing) return end(one, "is told to stop");
  const MembersChange change(look.nodes, counts_up_to(now()), one.named);
  const NodeNames unseen = redis::without(change.not_configured(), one.others);
  if (!unseen.empty()) {
    one.others.insert(one.others.end(), unseen.begin(), unseen.end());
    std::ranges::sort(one.others);
    return look_again(one, TrueTime());
  }
  if (!draw_.careful && random_.one_in(draw_.plan.empty() ? 10 : 40)) {
    if (change.stage() == Stage::announced) ++figures_.died_after[0];
    if (change.stage() == Stage::committed) ++figures_.died_after[1];
    if (change.stage() == Stage::agreed && !change.done()) ++figures_.died_after[2];
    return end(one, "has died");
  }
  const TrueTime next_look = draw_span(draw_.between_looks);
  if (goes_on_settling(look, change)) return look_again(one, next_look);
  if (one.withdraws && change.may_withdraw()) {
    make(look, change.withdrawing(), "withdraws");
    return end(one, "has withdrawn the change");
  }
  const bool to_announce = draw_.plan.empty() || change.stage() != Stage::agreed;
  if (one.reckless && change.state() && to_announce) make(look, change.announcing(), "announces");
  switch (change.stage()) {
    case Stage::unknown: break;
    case Stage::agreed: {
      if (change.done()) return list_settled(one);
      make(look, change.forgetting(), "makes forget");
      const auto [floor, since] = settled_floor(look, change);
      settle(look, change, floor, since);
      break;
    }
    case Stage::differs:
      if (!one.reckless && !change.may_announce()) break;
      make(look, change.announcing(), "announces");
      if (draw_.told == Step::announced) world_.lists.tell_clients(one.next);
      break;
    case Stage::announced:
      one.seen.clear();
      make(look, change.announcing(), "announces");
      if (!one.reckless && !change.may_commit()) break;
      if (draw_.careful && !world_.lists.have_moved_to(one.next)) break;
      if (const auto apart = change.forgetting(); !apart.empty()) {
        make(look, apart, "makes forget");
        break;
      }
      one.wait.start_again();
      make(look, change.committing(), "commits");
      world_.traps.move_at_commit(one.next);
      if (draw_.told == Step::committed) world_.lists.tell_clients(one.next);
      break;
    case Stage::committed: {
      if (!one.wait.is_for(*change.state())) one.wait.begin(*change.state());
      if (end_old_connections(look, change)) return look_again(one, TrueTime());
      if (!change.may_settle()) {
        // Sends the commit again to nodes that missed it.
        if (!draw_.plan.empty()) make(look, change.committing(), "commits");
        break;
      }
      const core::Duration left =
          one.wait.after_look(look.begun, one.local(now()), change.terms().max_ttl());
      if (left > 0s) {
        ++one.looks_left;
        return look_again(one, !random_.one_in(3) ? TrueTime(left) : next_look);
      }
      return read_counters(look, change);
    }
    case Stage::other:
      if (!draw_.plan.empty() && !random_.one_in(8)) break;
      if (random_.one_in(3) && change.may_withdraw()) {
        make(look, change.withdrawing(), "withdraws");
      } else if (random_.one_in(2)) {
        one.next = change.state()->to;
        one.named = {change.state()->to_terms.max_ttl_ms, change.state()->to_terms.memory_s};
        one.others = redis::without(change.state()->from, one.next);
      }
      break;
  }
  look_again(one, next_look);
}

/// Settles the nodes, and goes on with this floor in the next looks, as nodes come back.
void Operators::settle(const Look& look, const MembersChange& change, std::uint64_t floor,
                       std::int64_t since) {
  operators_[look.by].settles = Settling{*change.state(), floor, since};
  make(look, settling(look, change, floor, since), "settles");
}

/// Somebody may have made another change since the look before.
bool Operators::goes_on_settling(const Look& look, const MembersChange& change) {
  std::optional<Settling>& settles = operators_[look.by].settles;
  if (!settles) return false;
  if (settles->looks_left-- == 0 || !change.state() || !change.is_still(settles->state) ||
      change.done()) {
    settles.reset();
    return false;
  }
  make(look, settling(look, change, settles->floor, settles->since), "goes on settling");
  return true;
}

/// Called when an operator has seen the new list settled everywhere. It may then want another list.
void Operators::list_settled(Operator& one) {
  world_.lists.settled(one.next);
  trace("OPERATOR ", one.number, " sees ", redis::names_in_words(one.next), " settled");
  const bool wants_more =
      draw_.careful || random_.one_in(2) || (!draw_.plan.empty() && !random_.one_in(4));
  if (!wants_more) return end(one, "is done");
  one.others = one.next;
  one.next = world_.lists.draw(operators_.size());
  one.named = draw_terms();
  world_.lists.want(one.next);
  one.looks_left = draw_.plan.empty() ? 12 : 60;
  look_again(one, draw_span(draw_.between_changes));
}

/// Makes committed nodes end the connections of clients with other lists, as CLIENT KILL does, if
/// they have not done that. Some do not answer. Returns whether a node was asked.
bool Operators::end_old_connections(const Look& look, const MembersChange& change) {
  redis::SettlementWait& wait = operators_[look.by].wait;
  bool any = false;
  for (const int i : change.committed()) {
    const MembersChange::Node& node = look.nodes[static_cast<std::size_t>(i)];
    if (!node.old_connections) continue;
    any = true;
    const int number = look.servers[static_cast<std::size_t>(i)];
    const Server& server = node_at(number);
    const bool silent = !server.running() || server.paused() || server.conditions.loading;
    if (silent || (!draw_.careful && random_.one_in(4))) continue;
    wait.connections_ended(node.record);
    if (core::planted(core::Mutant::old_connections_kept)) continue;
    for (Client& client : clients_) {
      const auto name = redis::ClientName::parse(world_.network.name_of(client, number));
      if (!name || change.may_stay_connected(name->list)) continue;
      world_.network.lose_node(client, number, false, false);
    }
  }
  return any;
}

/// Whether an operator does not reach this node just now, which is mostly one that the draw names.
bool Operators::is_out_of_reach(std::size_t by, int server, Step step) {
  if (draw_.deaf.empty() || step < draw_.deaf_from) return false;
  const bool named = draw_.deaf.find(name_of(server).substr(1)) != std::string::npos;
  if (draw_.deaf_for_good) return named;
  const bool only_these = draw_.operators > 1 && by % 2 == 1;
  if (named == only_these) return false;
  Reach& reach = reach_[{only_these, server}];
  if (now() >= reach.until) {
    const bool forks = draw_.operators > 1;
    reach.deaf = random_.one_in(4) == !forks;
    reach.until = now() + draw_span(reach.deaf ? draw_.max_ttl * 3 / 2 : draw_.max_ttl / 2);
  }
  return reach.deaf;
}

/// Sends each node its part of a step. Some parts arrive late, and some never.
void Operators::make(const Look& look, const std::vector<MembersChange::Step>& steps,
                     const char* what) {
  for (const MembersChange::Step& step : steps) {
    if (!draw_.careful && random_.one_in(8)) continue;
    const bool late = !draw_.careful && random_.one_in(8);
    const int server = look.servers[static_cast<std::size_t>(step.node)];
    if (is_out_of_reach(look.by, server, step_of(step.as.phase))) continue;
    send_step(look, step, what, draw_span(late ? 2 * draw_.max_ttl : draw_.delay));
  }
}

void Operators::send_step(const Look& look, const MembersChange::Step& step, const char* what,
                          TrueTime span) {
  const int server = look.servers[static_cast<std::size_t>(step.node)];
  trace("OPERATOR ", look.by, ' ', what, " on node ", server + 1, ": ", step.as.text());
  Words words = MembersChange(look.nodes).command(step);
  after(span, [this, server, words = std::move(words)] { run(server, words); });
}

void Operators::run(int node, const Words& words) {
  Server& server = node_at(node);
  if (!server.running() || server.paused()) return;
  std::string bytes;
  redis::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  const int connection = server.connections.open();
  server.connections.feed(connection, bytes);
  const bool ran = server.execute_next(connection, now());
  const std::string said = server.connections.take_output(connection).substr(0, 2);
  trace("  node ", node + 1, " says to the operator: ", said);
  server.connections.drop(connection);
  if (ran) world_.observer.show(node, connection, -1);
  world_.observer.look_at(node);
  if (!draw_.faults_follow_steps || said != ":1" || words[2] == "0") return;
  const char letter = words.back()[words.back().find(' ') + 1];  // see Membership::text()
  const ListPhase phase = letter == 'a'   ? ListPhase::announced
                          : letter == 'u' ? ListPhase::unsettled
                                          : ListPhase::settled;
  if (step_of(phase) == draw_.forgets_after) world_.faults.may_forget(node, "its step");
}

/// The greatest of the counters and the floor of a node.
std::uint64_t Operators::greatest_number(const Look& look, std::size_t node) const {
  std::uint64_t greatest = look.nodes[node].enrolment->floor;
  const DatabaseView seen = node_at(look.servers[node]).at(now());
  for (const auto& [key, value] : seen.keys()) {
    if (!key.starts_with(redis::counter_prefix)) continue;
    greatest = std::max<std::uint64_t>(greatest, std::stoull(*seen.text_of(key)));
  }
  return greatest;
}

/// Reads the counters of the nodes that the change names, each node at a moment of its own, and
/// looks at their records once more after that.
void Operators::read_counters(const Look& look, const MembersChange& change) {
  const auto good = std::make_shared<bool>(true);
  TrueTime last = now();
  std::vector<std::size_t> sources;
  for (const int source : change.to_read()) sources.push_back(static_cast<std::size_t>(source));
  const auto needed = static_cast<std::size_t>(change.sources_needed());
  const std::vector<std::size_t> others(
      sources.begin() + static_cast<std::ptrdiff_t>(std::min(needed, sources.size())),
      sources.end());
  sources.resize(std::min(needed, sources.size()));
  // The greatest number of each source.
  const auto numbers = std::make_shared<std::vector<std::uint64_t>>();
  for (const std::size_t source : sources) {
    const TrueTime when = now() + draw_span(draw_.delay);
    last = std::max(last, when);
    at(when, [this, look, source, numbers, good] {
      const Server& read = node_at(look.servers[source]);
      if (!read.running() || read.paused()) *good = false;
      numbers->push_back(greatest_number(look, source));
    });
  }
  at(last + 1ns, [this, look, change, sources, others, numbers, good]() mutable {
    std::uint64_t most = change.counts_up_to(*numbers);
    if (std::ranges::max(*numbers) > most) {
      // A source with a bad number does not count, so the others are read, too.
      for (const std::size_t source : others) {
        if (!node_at(look.servers[source]).running()) continue;
        sources.push_back(source);
        numbers->push_back(greatest_number(look, source));
      }
      most = change.counts_up_to(*numbers);
      std::erase_if(*numbers, [most](std::uint64_t number) { return number > most; });
      *good = *good && std::ssize(*numbers) >= change.sources_needed();
    }
    std::uint64_t floor = numbers->empty() ? 0 : std::ranges::max(*numbers);
    floor = std::max(floor, change.floor_of_expired((1'700'000'000s + now()) / 1us));
    for (const std::size_t source : sources) {
      const Server& read = node_at(look.servers[source]);
      const bool same = (read.running() &&
                         text_of(read, redis::enrolment_key, now()) == look.nodes[source].record) ||
                        core::planted(core::Mutant::nodes_seen_once);
      *good = *good && same;
    }
    Operator& one = operators_[look.by];
    if (*good) {
      settle(look, change, floor, 0);
      if (draw_.told == Step::settled) world_.lists.tell_clients(one.next);
    } else {
      one.wait.start_again();
    }
    look_again(one, draw_span(draw_.between_looks));
  });
}

}  // namespace quorumlock::sim
