#include "sim/world/operators.hpp"

#include <algorithm>
#include <utility>

#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"
#include "sim/world/trace.hpp"

// Changes of the list of nodes: operators who make them, and clients that are given one list or
// another.
namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::MembersChange;
using redis::MembersPhase;
using redis::NodeNames;
using Stage = MembersChange::Stage;

namespace {

int server_named(const std::string& name) {
  return std::stoi(name.substr(1)) - 1;
}

std::string text_of(const Server& server, std::string_view key, TrueTime now) {
  const std::string* const text = server.text_of(std::string(key), now);
  return text != nullptr ? *text : std::string();
}

}  // namespace

void draw_members(Draw& draw, test::SeededRandom& random) {
  constexpr int sizes[] = {2, 3, 3, 3, 3, 4, 4, 5};
  draw.nodes = sizes[random.index(std::size(sizes))];
  draw.spares = random.between(1, 2);
  draw.operators = random.one_in(3) ? 2 : 1;
  draw.clients = random.between(2, 4);
  draw.durable = random.one_in(4);
  draw.low_counters = random.one_in(2);
  draw.sane_wall_clocks = random.one_in(2);
  draw.nodes_agree = random.one_in(2);
  draw.uneven_paths = random.one_in(3);
  draw.ttl = draw.max_ttl = random.between(2, 6) * 100ms;
  draw.delay = random.one_in(2) ? 200us : random.between(1, 5) * 1ms;
  draw.hold = draw.ttl * random.between(5, 20) / 10;
  draw.every = draw.ttl * random.between(1, 4) / 4;
  draw.pause = std::max(draw.delay, draw.ttl / 20);
  draw.node_timeout = draw.ttl;
  draw.until = draw.ttl * random.between(15, 40);
  draw.between_faults = draw.ttl * random.between(2, 6);
  draw.between_changes = draw.ttl * random.between(1, 4);
  draw.blind_spots = !random.one_in(4);
  if (draw.blind_spots) draw.faults.push_back(Fault::partition);
  switch (random.between(1, 4)) {
    case 1:  // One change after the other.
      draw.between_changes = draw.ttl / 2;
      return;
    case 2:  // Nodes forget, most of them just after a vote.
      draw.durable = false;
      draw.faults.push_back(random.one_in(2) ? Fault::flush : Fault::crash);
      draw.faults_follow_votes = true;
      return;
    default: break;
  }
  constexpr Fault others[] = {Fault::crash,        Fault::flush, Fault::reset,  Fault::pause_client,
                              Fault::pause_node,   Fault::delay, Fault::refuse, Fault::fail_over,
                              Fault::client_crash, Fault::flush, Fault::crash};
  for (int more = random.between(1, 3); more > 0; --more) {
    draw.faults.push_back(others[random.index(std::size(others))]);
  }
  draw.faults_follow_votes = random.one_in(3);
}

/// What a server's record says, if it is valid in the server's run.
std::optional<redis::Membership> World::membership_of(const Server& server) const {
  MembersChange::Node node;
  node.carries(server.run_id(), text_of(server, redis::enrolment_key, now_),
               text_of(server, redis::members_key, now_));
  return node.membership;
}

/// Called when a node's record has changed. Two lists whose common nodes have all forgotten cannot
/// know of each other, nor can lists without a common node: nothing is promised from then on.
void World::look_at_founding(int node) {
  const auto founded = membership_of(nodes_[static_cast<std::size_t>(node)]);
  if (!founded) return;
  bool others = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::optional<redis::Membership> its = membership_of(nodes_[i]);
    if (!its || its->founding == founded->founding) continue;
    if (redis::is_member(founded->to, name_of(static_cast<int>(i)))) return;
    others = true;
  }
  if (!others) return;
  trace("two lists share no node that remembers");
  strangers_ = true;
}

/// What most nodes say that governs: the state furthest on; nothing if none has a record.
std::optional<redis::Membership> World::governing() const {
  std::map<std::uint64_t, std::pair<int, redis::Membership>> foundings;
  for (const Server& server : nodes_) {
    const std::optional<redis::Membership> its = membership_of(server);
    if (!its) continue;
    auto& [count, furthest] = foundings[its->founding];
    if (count++ == 0 || its->rank() > furthest.rank()) furthest = *its;
  }
  if (foundings.empty()) return std::nullopt;
  return std::ranges::max_element(foundings, {}, [](const auto& one) { return one.second.first; })
      ->second.second;
}

NodeNames World::first_list() const {
  NodeNames list;
  for (int node = 0; node < draw_.nodes; ++node) list.push_back(name_of(node));
  return list;
}

/// Draws the list that an operator wants: one that somebody wanted before, the one that a change is
/// under way to, or one that differs by a node or two from the one that governs.
NodeNames World::draw_list() {
  const std::optional<redis::Membership> now = governing();
  if (!now || random_.one_in(8)) return lists_[random_.index(lists_.size())];
  if (now->phase != MembersPhase::settled && random_.one_in(2)) return now->to;
  NodeNames list = now->to;
  for (int changes = random_.one_in(6) ? 2 : 1; changes > 0; --changes) {
    NodeNames spare;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const std::string name = name_of(static_cast<int>(node));
      if (std::ranges::find(list, name) == list.end()) spare.push_back(name);
    }
    const int what = random_.between(1, 3);
    const bool adds = !spare.empty() && what != 1;
    if (what != 2 && list.size() > (adds ? 1 : 2)) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.index(list.size())));
    }
    if (adds) list.push_back(spare[random_.index(spare.size())]);
  }
  std::ranges::sort(list);
  return list;
}

/// From now on there are operators, one after the other; if the draw has two, also at once.
void World::plan_operators() {
  lists_.push_back(first_list());
  for (int i = 0; i < draw_.operators; ++i) plan_operator();
  if (draw_.operators == 0) return;
  for (const Client& client : clients_) lists_may_differ(client.number);
}

void World::plan_operator() {
  after(draw_span(draw_.between_changes), [this] {
    if (!healing_) begin_operator(draw_list());
  });
}

/// Now and then a client is given a list of another time.
void World::lists_may_differ(std::size_t client) {
  after(draw_span(4 * draw_.between_changes), [this, client] {
    if (healing_) return;
    give_list(client, lists_[random_.index(lists_.size())]);
    lists_may_differ(client);
  });
}

void World::give_list(std::size_t number, const NodeNames& list) {
  std::vector<int> servers;
  for (const std::string& name : list) servers.push_back(server_named(name));
  Client& client = clients_[number];
  client.list = servers;
  trace("client ", number + 1, " is given the list ", redis::names_in_words(list));
  for_client(number, client.life, [this, number, servers] {
    Client& told = clients_[number];
    told.session->set_nodes(told.local(now_), Client::links_to(servers, draw_));
  });
}

void World::begin_operator(NodeNames next) {
  Operator& one = operators_.emplace_back();
  one.number = operators_.size() - 1;
  one.next = std::move(next);
  one.rate = rate_within_the_bound(draw_, random_);
  one.reckless = random_.one_in(4);
  one.withdraws = random_.one_in(8);
  if (std::ranges::find(lists_, one.next) == lists_.end()) lists_.push_back(one.next);
  trace("OPERATOR ", one.number, " wants ", redis::names_in_words(one.next),
        one.reckless ? ", whatever it sees" : "", one.withdraws ? ", or to withdraw" : "");
  look_at_nodes(one.number);
}

void World::end_operator(Operator& one, const char* why) {
  one.over = true;
  trace("OPERATOR ", one.number, ' ', why);
  plan_operator();
}

/// Reads what each node says, at a moment of its own.
void World::look_at_nodes(std::size_t number) {
  Operator& one = operators_[number];
  if (one.looks_left-- == 0) return end_operator(one, "gives up");
  const auto look = std::make_shared<Look>();
  look->by = number;
  look->begun = one.local(now_);
  NodeNames names = one.next;
  const NodeNames others = redis::without(one.others, one.next);
  names.insert(names.end(), others.begin(), others.end());
  const bool slow = random_.one_in(6);
  TrueTime last = now_;
  for (std::size_t i = 0; i < names.size(); ++i) {
    look->servers.push_back(server_named(names[i]));
    look->nodes.push_back({names[i], i < one.next.size()});
    const TrueTime when = now_ + draw_span(slow ? TrueTime(draw_.max_ttl) * 2 : draw_.delay);
    last = std::max(last, when);
    at(when, [this, look, i] {
      const Server& server = nodes_[static_cast<std::size_t>(look->servers[i])];
      const bool silent = !server.running() || server.paused() || server.conditions.loading;
      if (silent || random_.one_in(20)) return;
      look->nodes[i].carries(server.run_id(), text_of(server, redis::enrolment_key, now_),
                             text_of(server, redis::members_key, now_));
    });
  }
  at(last + 1ns, [this, look] { has_looked(*look); });
}

void World::look_again(Operator& one, TrueTime span) {
  after(span, [this, number = one.number] { look_at_nodes(number); });
}

void World::has_looked(const Look& look) {
  Operator& one = operators_[look.by];
  if (healing_) return end_operator(one, "is told to stop");
  const MembersChange change(look.nodes);
  const NodeNames unseen = redis::without(change.not_configured(), one.others);
  if (!unseen.empty()) {
    one.others.insert(one.others.end(), unseen.begin(), unseen.end());
    std::ranges::sort(one.others);
    return look_again(one, TrueTime());
  }
  if (random_.one_in(10)) return end_operator(one, "has died");
  const TrueTime next_look = draw_span(draw_.ttl);
  if (one.withdraws && change.may_withdraw()) {
    make(look, change.withdrawing(), "withdraws");
    return end_operator(one, "has withdrawn the change");
  }
  if (one.reckless && change.furthest()) make(look, change.announcing(), "announces");
  switch (change.stage()) {
    case Stage::unknown: break;
    case Stage::agreed: {
      if (change.done()) return list_settled(one);
      const auto& settled = look.nodes[static_cast<std::size_t>(change.settled_node())];
      make(look, change.settling(settled.enrolment->floor, settled.enrolment->since), "settles");
      break;
    }
    case Stage::differs:
      if (!one.reckless && !change.may_announce()) break;
      make(look, change.announcing(), "announces");
      tell_clients(one.next);
      break;
    case Stage::announced:
      make(look, change.announcing(), "announces");
      if (!one.reckless && !change.may_commit()) break;
      one.wait.start_again();
      make(look, change.committing(), "commits");
      break;
    case Stage::committed: {
      if (!change.may_settle()) break;
      const core::Duration left =
          one.wait.after_look(look.begun, one.local(now_), change.max_ttl());
      if (left > 0s) {
        ++one.looks_left;
        return look_again(one, !random_.one_in(3) ? TrueTime(left) : next_look);
      }
      return read_counters(look, change);
    }
    case Stage::other:
      if (random_.one_in(3) && change.may_withdraw()) {
        make(look, change.withdrawing(), "withdraws");
      } else if (random_.one_in(2)) {
        one.next = change.furthest()->to;
        one.others = redis::without(change.furthest()->from, one.next);
      }
      break;
  }
  look_again(one, next_look);
}

/// An operator has seen the new list settled everywhere. It may want another one.
void World::list_settled(Operator& one) {
  ++figures_.lists_settled;
  trace("OPERATOR ", one.number, " sees ", redis::names_in_words(one.next), " settled");
  if (!random_.one_in(2)) return end_operator(one, "is done");
  one.others = one.next;
  one.next = draw_list();
  if (std::ranges::find(lists_, one.next) == lists_.end()) lists_.push_back(one.next);
  one.looks_left = 12;
  look_again(one, draw_span(draw_.between_changes));
}

/// Gives most clients the new list, each at its own time.
void World::tell_clients(const NodeNames& list) {
  for (const Client& client : clients_) {
    if (random_.one_in(6)) continue;
    after(draw_span(draw_.ttl), [this, number = client.number, list] {
      if (!healing_) give_list(number, list);
    });
  }
}

/// Sends each node its part of a step. Some parts arrive late, and some never.
void World::make(const Look& look, const std::vector<MembersChange::Step>& steps,
                 const char* what) {
  for (const MembersChange::Step& step : steps) {
    if (random_.one_in(8)) continue;
    const bool late = random_.one_in(8);
    const int server = look.servers[static_cast<std::size_t>(step.node)];
    trace("OPERATOR ", look.by, ' ', what, " on node ", server + 1, ": ", step.as.text());
    Words words{"EVAL",
                std::string(redis::adopt_script.source),
                "3",
                std::string(redis::enrolment_key),
                std::string(redis::candidate_key),
                std::string(redis::members_key),
                look.nodes[static_cast<std::size_t>(step.node)].record,
                step.record.to_string(),
                step.as.text()};
    after(draw_span(late ? 2 * draw_.max_ttl : draw_.delay),
          [this, server, words = std::move(words)] { run_for_operator(server, words); });
  }
}

void World::run_for_operator(int node, const Words& words) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running() || server.paused()) return;
  std::string bytes;
  redis::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  const int connection = server.connect();
  server.feed(connection, bytes);
  server.execute_next(connection, now_);
  trace("  node ", node + 1,
        " says to the operator: ", server.take_output(connection).substr(0, 2));
  server.drop(connection);
  look_at(node);
}

/// Reads the counters of the nodes that the change names, each node at a moment of its own, and
/// looks at their records once more after that.
void World::read_counters(const Look& look, const MembersChange& change) {
  const auto floor = std::make_shared<std::uint64_t>(0);
  const auto good = std::make_shared<bool>(true);
  TrueTime last = now_;
  std::vector<std::size_t> sources;
  for (const int source : change.to_read()) sources.push_back(static_cast<std::size_t>(source));
  for (const std::size_t source : sources) {
    *floor = std::max(*floor, look.nodes[source].enrolment->floor);
    const TrueTime when = now_ + draw_span(draw_.delay);
    last = std::max(last, when);
    at(when, [this, server = look.servers[source], floor, good] {
      const Server& read = nodes_[static_cast<std::size_t>(server)];
      if (!read.running() || read.paused()) *good = false;
      for (const auto& [key, value] : read.keys(now_)) {
        if (!key.starts_with(redis::counter_prefix)) continue;
        const std::string* const text = read.text_of(key, now_);
        *floor = std::max<std::uint64_t>(*floor, std::stoull(*text));
      }
    });
  }
  at(last + 1ns, [this, look, change, sources, floor, good] {
    for (const std::size_t source : sources) {
      const Server& read = nodes_[static_cast<std::size_t>(look.servers[source])];
      const bool same =
          read.running() && text_of(read, redis::enrolment_key, now_) == look.nodes[source].record;
      *good = *good && same;
    }
    Operator& one = operators_[look.by];
    if (*good) {
      make(look, change.settling(*floor, 0), "settles");
    } else {
      one.wait.start_again();
    }
    look_again(one, draw_span(draw_.ttl));
  });
}

}  // namespace quorumlock::sim
