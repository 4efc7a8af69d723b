#include <algorithm>
#include <tuple>
#include <utility>

#include "redis/keys.hpp"
#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// How long a wake-up may take: some rounds of messages; no limit unless looks are rarer.
TrueTime patience(const Draw& draw) {
  const TrueTime rounds = 240 * draw.delay;
  return draw.entry_life / 3 > rounds ? rounds : TrueTime::max();
}

}  // namespace

std::string World::name_of(int node) {
  return "n" + std::to_string(node + 1);
}

World::World(const Draw& draw, std::ostream* trace)
    : draw_(draw),
      history_(agenda_, trace),
      lock_(draw.capacity == 0 ? "lock" : std::string(redis::semaphore_prefix) + "lock"),
      random_(draw.seed),
      paths_(static_cast<std::size_t>(draw.clients),
             std::vector<Path>(static_cast<std::size_t>(draw.servers()))),
      peers_(static_cast<std::size_t>(draw.servers())),
      records_(static_cast<std::size_t>(draw.servers())),
      copies_(static_cast<std::size_t>(draw.servers())),
      on_disk_(static_cast<std::size_t>(draw.servers())),
      exclusion_(operations_, draw.timing_holds(), [this](const auto& what) { report(what); }),
      fencing_(draw.fencing && draw.counters_hold(), draw.timing_holds(),
               [this](const auto& what) { report(what); }),
      telling_([this](const auto& what) { report(what); }),
      tidiness_([this](const auto& what) { report(what); }),
      order_(operations_, draw.order_holds(), patience(draw),
             [this](const auto& what) { report(what); }) {
  for (const std::string& key : {lock_, std::string("other"), std::string("third")}) {
    if (key == "third" && draw.keys <= 2) continue;
    counters_.emplace_back(key, std::string(redis::counter_prefix) + key);
  }
  const int far_ahead = draw.one_ahead ? random_.between(0, draw.nodes - 1) : -1;
  const redis::NodeNames list = first_list();
  for (int node = 0; node < draw.servers(); ++node) {
    ServerSettings settings;
    settings.seed = draw.seed * 100 + static_cast<std::uint64_t>(node);
    settings.durable = draw.durable;
    constexpr const char* deletes_by[] = {"delex", "delifeq", ""};
    if (!draw.wakes) settings.deletes_by = deletes_by[node % 3];
    const auto off = random_.between(-20'000, 20'000) * 1ms;
    const double rate = rate_within_the_bound(draw, random_);
    const WallClock clock(1'700'000'000s + (draw.nodes_agree ? 0ms : off),
                          draw.nodes_agree ? 1 : rate);
    Server& server = nodes_.emplace_back(settings, clock, now());
    if (node >= draw.nodes) continue;
    // This is a new cluster: the nodes have nothing to forget.
    Server::Data data;
    redis::EnrolmentRecord record;
    record.run_id = server.run_id();
    record.terms.max_ttl_ms = draw.max_ttl / 1ms;
    if (draw.trust_disk) record.terms.policy = Quarantine::trust_disk;
    record.durable = draw.durable;
    const redis::Membership members{1, 0, redis::MembersPhase::settled, name_of(node), {}, list};
    record.members = members.mark();
    data[0].put(std::string(redis::members_key), {members.text(), std::nullopt});
    data[0].put(std::string(redis::enrolment_key), {record.to_string(), std::nullopt});
    for (const std::string& key : {lock_, std::string("other")}) {
      if (!draw.low_counters) break;
      const int ahead = node == far_ahead ? 1000 : 0;
      data[0].put(std::string(redis::counter_prefix) + key,
                  {std::to_string(random_.between(0, 3) + ahead), std::nullopt});
    }
    if (draw.low_counters && draw.keys > 2) {
      data[0].put(std::string(redis::counter_prefix) + "third",
                  {std::to_string(random_.between(0, 3)), std::nullopt});
    }
    if (draw.odd_counter && node == 0) {
      data[0].put(std::string(redis::counter_prefix) + "unused", {"no number", std::nullopt});
    }
    server.replace_data(data);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(draw.clients); ++i) {
    clients_.emplace_back(draw, i, random_);
    for (Path& path : paths_[i]) {
      constexpr int speeds[] = {5, 20, 100, 100, 300};
      if (draw.uneven_paths) path.percent = speeds[random_.index(std::size(speeds))];
    }
  }
  plan_lists();
}

TrueTime World::draw_span(TrueTime about) {
  // The span is mostly about that long, and now and then much shorter or longer.
  const auto span = about * random_.between(1, 200) / 100;
  return random_.one_in(10) ? span / 20 : random_.one_in(10) ? span * 4 : span;
}

std::string World::run() {
  for (Client& client : clients_) {
    client.session->start(client.local(now()));
    turn(client);
  }
  begin_users();
  plan_faults();
  plan_extends();
  plan_operators();
  for (std::size_t i = 0; i < clients_.size() && draw_.blind_spots; ++i) wander(i);
  run_until(draw_.until);
  if (goes_on()) heal();
  if (draw_.lists_change()) {
    if (goes_on()) demand_change_ends();
    return violation();
  }
  if (goes_on()) demand_progress();
  if (goes_on()) demand_order();
  if (goes_on()) demand_succession();
  if (goes_on()) demand_turn();
  if (goes_on()) demand_permits();
  if (goes_on()) demand_trust();
  if (goes_on()) demand_tidiness();
  return violation();
}

/// Repairs everything, and gives back every lock.
void World::heal() {
  trace("everything heals");
  healing_ = true;
  for (auto& of_client : paths_) {
    for (Path& path : of_client) path.blocked_to = path.blocked_from = path.extra = TrueTime();
  }
  for (Client& client : clients_) {
    client.session->each_wire_in_use([&](int wire) {
      if (client.wires[static_cast<std::size_t>(wire)].forgotten) lose(client, wire, false);
    });
  }
  for (int node = 0; node < draw_.servers(); ++node) {
    Server& server = nodes_[static_cast<std::size_t>(node)];
    if (!server.running()) restart(node);
    server.conditions = {};
    server.resume();
    if (draw_.has(Fault::clock_rate)) server.set_rate(1, now());
    serve(node);
  }
  for (Client& client : clients_) {
    if (client.paused) resume(client);
  }
  for (Operation& one : operations_) {
    if (one.held && !one.dead) give_back(one);
    if (one.answers == 0 && !one.dead) {
      Client& client = clients_[one.client];
      client.session->engine().cancel(client.local(now()), one.waiter, Errc::cancelled);
    }
  }
  for (Client& client : clients_) turn(client);
  run_until(now() + 2s + 10 * draw_.delay);

  // If no connection was lost, and no message is still under way, every release has arrived.
  // Nor does a release go to a node that has left its client's list.
  bool lost = draw_.lists_change() || draw_.has(Fault::client_crash) || draw_.has(Fault::crash) ||
              draw_.has(Fault::delay) || draw_.has(Fault::partition);
  // A node may have refused releases for the key's ttl, and its clock then gives the key more time.
  lost = lost || (draw_.has(Fault::refuse) &&
                  (draw_.has(Fault::clock_step) || draw_.has(Fault::clock_rate)));
  for (const auto& of_client : paths_) {
    for (const Path& path : of_client) lost = lost || path.lost;
  }
  for (const Operation& one : operations_) lost = lost || one.detached;
  for (std::size_t node = 0; node < nodes_.size() && !lost; ++node) {
    for (const auto& [key, value] : nodes_[node].keys(now())) {
      if (!key.starts_with(redis::own_prefix) || key.starts_with(redis::permit_prefix)) {
        report("node " + std::to_string(node + 1) + " still has " + key +
               " although nobody holds it and no connection was lost");
      }
    }
  }
}

/// Whether some nodes have a record, and fewer of one founding than it takes to vouch for another.
bool World::too_few_vouch() const {
  const redis::Membership list{1,          0,  redis::MembersPhase::settled,
                               name_of(0), {}, redis::NodeNames(nodes_.size())};
  std::map<std::uint64_t, int> enrolled;
  int most = 0;
  for (const Server& server : nodes_) {
    const std::string* const text = server.text_of(std::string(redis::enrolment_key), now());
    const auto record = text != nullptr ? redis::EnrolmentRecord::parse(*text) : std::nullopt;
    if (!record || !redis::is_this_run(record->run_id, server.run())) continue;
    most = std::max(most, ++enrolled[record->members->founding]);
  }
  return most > 0 && most < list.vouchers_needed();
}

/// Checks that each client in turn gets the lock, and at once.
void World::demand_progress() {
  // Nodes that forgot vote again after max_ttl; nodes whose clock was wrong are trusted again.
  run_until(now() + 3 * draw_.max_ttl + 15s);
  if (draw_.has(Fault::clock_step)) return;  // a clock that was set back lets keys live longer
  if (too_few_vouch()) {
    // The operator runs enroll. Nodes that forgot come back by themselves only if enough of the
    // others remember, or if none does.
    trace("the operator vouches for the nodes that forgot");
    Client& operators = clients_.front();
    for (const int node : operators.session->nodes()) {
      operators.session->doubt(operators.local(now()), node);
    }
    operators.session->vouch(operators.local(now()));
    turn(operators);
    run_until(now() + 3 * draw_.max_ttl + 15s);
  }
  for (const Client& client : clients_) {
    for (const int node : client.session->nodes()) {
      if (!draw_.timing_holds()) break;
      if (client.session->link(node).state() == core::LinkState::up) continue;
      report("node " + std::to_string(client.server_of(node) + 1) + " does not vote for client " +
             std::to_string(client.number + 1) + " although all is well: it " +
             client.session->link(node).trouble(client.local(now())));
    }
  }
  for (Client& client : clients_) {
    if (!goes_on()) return;
    acquire(client, 30s, draw_.in_order > 0);
    const std::size_t number = operations_.size() - 1;
    run_until(now() + 8s + 2 * draw_.max_ttl + 20 * draw_.delay);
    Operation& one = operations_[number];
    if (violation().empty() && one.token.empty()) {
      report("client " + std::to_string(client.number + 1) + " gets no lock although all is well");
    }
    if (one.held) give_back(one);
    turn(client);
    run_until(now() + 1s + 10 * draw_.delay);
  }
}

/// Checks that all clients get the lock, each for a moment, when all want it at once, in a time
/// that does not depend on any ttl.
void World::demand_order() {
  if (draw_.in_order == 0 || !draw_.timing_holds() || draw_.capacities_differ) return;
  const TrueTime begun = now();
  std::vector<std::size_t> crowd;
  for (Client& client : clients_) {
    for (int i = random_.between(1, 3); i > 0; --i) {
      Operation& one = acquire(client, 1h, true);
      one.in_crowd = true;
      crowd.push_back(one.number);
    }
  }
  const TrueTime message = std::min({draw_.delay, draw_.ttl / 100, draw_.node_timeout / 20});
  const auto count = static_cast<int>(crowd.size());
  run_until(now() + 1s + 2 * draw_.entry_life + count * 60 * message);
  for (const std::size_t number : crowd) {
    const Operation& one = operations_[number];
    if (!violation().empty()) return;
    if (one.token.empty()) {
      report("operation " + std::to_string(number) + " waits in a line of " +
             std::to_string(count) + " for " +
             std::to_string(static_cast<double>((now() - begun).count()) / 1e9) +
             " s although all is well");
    }
  }
}

/// Checks that nothing is left: no wait, no lease, no request, and no key once its ttl has passed.
void World::demand_tidiness() {
  run_until(now() + std::max(draw_.max_ttl, 2 * draw_.entry_life) * 11 / 10 + 1s);
  for (const Operation& one : operations_) telling_.at_the_end(one);
  for (Client& client : clients_) {
    if (client.session->engine().busy()) {
      report("client " + std::to_string(client.number + 1) + " is still busy at the end");
    }
    for (const int node : client.session->nodes()) {
      if (draw_.timing_holds() &&
          client.session->wrong_clocks().jump(node).size != core::Duration::zero()) {
        report("a clock within the bound was taken for a wrong one");
      }
    }
  }
  // What a crashed client had sent may reach a node even now, and set the key for a ttl.
  const bool from_the_dead = draw_.has(Fault::delay) && draw_.has(Fault::client_crash);
  for (std::size_t node = 0; node < nodes_.size() && draw_.timing_holds(); ++node) {
    for (const auto& [key, value] : nodes_[node].keys(now())) {
      if (from_the_dead && value.expires) continue;
      const bool of_a_line =
          key.starts_with(redis::queue_prefix) || key.starts_with(redis::waiting_prefix);
      const bool of_a_permit = key.starts_with(redis::permit_prefix);
      if (key.starts_with(redis::own_prefix) && !of_a_line && !of_a_permit) continue;
      report("node " + std::to_string(node + 1) + " has " + key + " long after its ttl");
    }
  }
}

}  // namespace quorumlock::sim
