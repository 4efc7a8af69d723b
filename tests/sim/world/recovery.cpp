#include "sim/world/recovery.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/world/last_operator.hpp"
#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void Recovery::heal() {
  trace("everything heals");
  scene_.healing = true;
  world_.paths.heal();
  for (Client& client : clients_) {
    client.session->each_wire_in_use([&](int wire) {
      if (client.wires[static_cast<std::size_t>(wire)].forgotten)
        world_.network.lose(client, wire, false);
    });
  }
  for (int node = 0; node < draw_.servers(); ++node) {
    Server& server = node_at(node);
    if (!server.running()) world_.faults.restart(node);
    server.conditions = {};
    server.resume();
    if (draw_.has(Fault::clock_rate)) server.clock.set_rate(1, now());
    world_.network.serve(node);
  }
  for (Client& client : clients_) {
    if (client.paused) world_.processes.resume(client);
    if (std::exchange(client.elsewhere, false)) world_.processes.die(client);
    if (draw_.other_max_ttl > 0s && !std::exchange(client.follows, true)) {
      world_.processes.die(client);
    }
  }
  for (Operation& one : operations_) {
    if (one.held && !one.dead) world_.users.give_back(one);
    if (one.answers == 0 && !one.dead) {
      Client& client = clients_[one.client];
      client.session->engine().cancel(client.local(now()), one.waiter, Errc::cancelled);
    }
  }
  for (Client& client : clients_) world_.processes.turn(client);
  run_until(now() + 2s + 10 * draw_.delay);
  demand_releases();
}

/// Checks that no node has a key that was given back.
void Recovery::demand_releases() {
  // If no connection was lost, and no message is still under way, every release has arrived. But a
  // release does not go to a node that has left its client's list.
  bool lost = draw_.lists_change() || draw_.has(Fault::client_crash) || draw_.has(Fault::crash) ||
              draw_.has(Fault::delay) || draw_.has(Fault::partition) || world_.paths.any_lost();
  // A node may have refused releases for the key's ttl, and its clock then gives the key more time.
  lost = lost || (draw_.has(Fault::refuse) &&
                  (draw_.has(Fault::clock_step) || draw_.has(Fault::clock_rate)));
  for (const Operation& one : operations_) lost = lost || one.detached;
  for (std::size_t node = 0; node < nodes_.size() && !lost; ++node) {
    for (const auto& [key, value] : nodes_[node].at(now()).keys()) {
      if (redis::is_held_key(key)) {
        report("node " + std::to_string(node + 1) + " still has " + key +
               " although nobody holds it and no connection was lost");
      }
    }
  }
}

/// Whether some nodes have a record, and fewer of each founding than it takes to vouch for another
/// node.
bool Recovery::too_few_vouch() const {
  const redis::Membership list{1,          0,  ListPhase::settled,
                               name_of(0), {}, redis::NodeNames(nodes_.size())};
  std::map<std::uint64_t, int> enrolled;
  int most = 0;
  for (const Server& server : nodes_) {
    const auto record = enrolment_of(server, now());
    if (!record || !redis::is_this_run(record->run_id, server.run().name())) continue;
    most = std::max(most, ++enrolled[record->members.founding]);
  }
  return most > 0 && most < list.vouchers_needed();
}

/// An operator's client looks at all nodes, as enroll --watch does: nobody else may enrol those
/// that forgot.
void Recovery::watch() {
  Client& operators = clients_.front();
  for (const int node : operators.session->nodes()) {
    operators.session->doubt(operators.local(now()), node);
  }
  world_.processes.turn(operators);
}

void Recovery::vouch() {
  trace("the operator vouches for the nodes that forgot");
  watch();
  checks_.referee.ask_for_no_vouchers();
  Client& operators = clients_.front();
  operators.session->vouch(operators.local(now()));
  world_.processes.turn(operators);
}

void Recovery::demand_progress() {
  if (draw_.tenants) watch();
  if (draw_.has(Fault::forge) || draw_.has(Fault::make_up)) {
    // What one node says keeps nobody from a lock, and can be taken from it.
    run_until(now() + 3 * draw_.max_ttl + 15s);
    if (!draw_.has(Fault::flush)) demand_locks();
    LastOperator(world_).make_forget();
  }
  // Nodes that forgot vote again after max_ttl; nodes whose clock was wrong are trusted again.
  run_until(now() + 3 * draw_.max_ttl + 15s);
  if (draw_.other_max_ttl > 0s && std::ranges::none_of(nodes_, [this](const Server& server) {
        return membership_of(server, now()).has_value();
      })) {
    // Clients that follow the nodes found the list with max_ttl 30 s, once nobody has looked at the
    // candidates of the others for twice as long and a minute.
    run_until(now() + 30s + 2 * 30s + 1min + 15s);
  }
  if (draw_.has(Fault::clock_step)) return;  // a clock that was set back lets keys live longer
  if (too_few_vouch()) {
    // Nodes that forgot come back by themselves only if enough of the others remember, or if none
    // does.
    vouch();
    run_until(now() + 3 * draw_.max_ttl + 15s);
  }
  for (const Client& client : clients_) {
    for (const int node : client.session->nodes()) {
      if (!draw_.timing_holds()) break;
      const redis::Link& link = client.session->link(node);
      if (link.state() == core::LinkState::up && link.reason() == Vote::pending) continue;
      report("node " + std::to_string(client.server_of(node) + 1) + " does not vote for client " +
             std::to_string(client.number + 1) + " although all is well: it " +
             link.trouble(client.local(now())));
    }
  }
  demand_locks();
}

void Recovery::demand_locks() {
  for (Client& client : clients_) {
    if (!goes_on()) return;
    world_.users.acquire(client, 30s, draw_.in_order > 0);
    const std::size_t number = operations_.size() - 1;
    run_until(now() + 8s + 2 * draw_.max_ttl + 20 * draw_.delay);
    Operation& one = operations_[number];
    if (violation().empty() && one.token.empty()) {
      report("client " + std::to_string(client.number + 1) + " gets no lock although all is well");
    }
    if (one.held) world_.users.give_back(one);
    world_.processes.turn(client);
    run_until(now() + 1s + 10 * draw_.delay);
  }
}

void Recovery::demand_trust() {
  if (!draw_.has(Fault::stand_still) || !draw_.node_clocks_hold() || !draw_.fencing) return;
  const TrueTime message = draw_.message_when_well();
  // This is time for some attempts of a few messages each.
  const TrueTime bound = 120 * message + 8 * TrueTime(draw_.pause);
  for (Client& client : clients_) {
    if (!violation().empty()) return;
    const auto lock = [&](TrueTime span) {
      world_.users.acquire(client, 1h, false, false);
      const std::size_t number = operations_.size() - 1;
      run_until(now() + span);
      if (operations_[number].held) world_.users.give_back(operations_[number]);
      world_.processes.turn(client);
      run_until(now() + 20 * message);
      return number;
    };
    lock(bound + 8s);
    world_.processes.stand_still(client, draw_.max_ttl * random_.between(4, 12));
    run_until(now() + 13 * draw_.max_ttl);
    const std::size_t number = lock(bound);
    if (violation().empty() && operations_[number].token.empty()) {
      report("client " + std::to_string(client.number + 1) +
             " gets no lock since its clock stood still, although all is well");
    }
  }
}

void Recovery::demand_tidiness() {
  run_until(now() + draw_.keys_live());
  for (const Operation& one : operations_) checks_.telling.at_the_end(one);
  for (Client& client : clients_) {
    if (client.session->engine().busy()) {
      report("client " + std::to_string(client.number + 1) + " is still busy at the end");
    }
    for (const int node : client.session->nodes()) {
      if (draw_.timing_holds() && !draw_.short_lives &&
          client.session->clock_jump(node).size != core::Duration::zero()) {
        report("a clock within the bound was taken for a wrong one");
      }
    }
  }
  // A request of a crashed client may reach a node even now, and set the key for a ttl.
  const bool from_the_dead = draw_.has(Fault::delay) && draw_.has(Fault::client_crash);
  for (std::size_t node = 0; node < nodes_.size() && draw_.timing_holds(); ++node) {
    for (const auto& [key, value] : nodes_[node].at(now()).keys()) {
      if (from_the_dead && value.expires) continue;
      const bool of_a_line =
          key.starts_with(redis::queue_prefix) || key.starts_with(redis::waiting_prefix) ||
          key.starts_with(redis::granted_prefix) || key.starts_with(redis::readers_prefix);
      if (!redis::is_held_key(key) && !of_a_line) continue;
      report("node " + std::to_string(node + 1) + " has " + key + " long after its ttl");
    }
  }
}

}  // namespace quorumlock::sim
