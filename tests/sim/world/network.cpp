#include <algorithm>
#include <utility>

#include "core/mutants.hpp"
#include "redis/keys.hpp"
#include "sim/data_commands.hpp"
#include "sim/world/world.hpp"
#include "support/scripts.hpp"

// Connections between clients and nodes: bytes in order, each message with a delay of its own.
namespace quorumlock::sim {

using namespace std::chrono_literals;

std::vector<World::Owner> World::owners_of(const Words& words, const redis::Script* script) {
  // Taking back a counter is not about a lock.
  if (words.size() > 3 && words[3].starts_with(redis::counter_prefix)) return {};
  if (words[0] == "SET" && words.size() == 6) return {{{words[1]}, words[2], false}};
  if (words[0] == "DELEX") return {{{words[1]}, words[3], true}};
  if (words[0] == "DELIFEQ") return {{{words[1]}, words[2], true}};
  if (script == nullptr || words[0] != "EVALSHA") return {};
  const auto permit = [&words](const std::string& slot) {
    return std::string(redis::permit_prefix) + slot + ":" +
           words[3].substr(redis::semaphore_prefix.size());
  };
  if (script == &redis::acquire_permit_script) {
    return {{{permit(words[15])}, words[6], false}};
  }
  if (script == &redis::renew_permit_script) {
    return {{{words[3]}, words[7], false}};
  }
  if (script == &redis::release_permit_script) {
    return {{{permit(words[5])}, words[4], true}};
  }
  std::vector<Owner> several;
  if (script == &redis::release_script && words[2] == "0") {
    for (std::size_t i = 3; i < words.size(); i += 2) {
      several.push_back({{words[i]}, words[i + 1], true});
    }
    return several;
  }
  if (script == &redis::acquire_script && words[2] == "1") {
    for (std::size_t i = 7; i + 2 < words.size(); i += 3) {
      several.push_back({{words[i]}, words[i + 1], false});
    }
    return several;
  }
  const std::string_view verb = script->name.substr(0, script->name.find('_'));
  const bool releases = verb == "release" && script != &redis::release_token_script;
  if (!releases && verb != "acquire" && verb != "raise" && verb != "renew") return {};
  // A vote's keys are the locks, the same number of counters, and the enrolment.
  const std::size_t keys = std::stoul(words[2]);
  const auto locks = static_cast<std::ptrdiff_t>(releases ? keys : keys / 2);
  return {{{words.begin() + 3, words.begin() + 3 + locks}, words[3 + keys], releases}};
}

/// When a message that is sent now arrives: after all earlier ones on its connection.
TrueTime World::arrival(std::size_t client, int node, bool to_node, TrueTime& last) {
  const Path& path = paths_[client][static_cast<std::size_t>(node)];
  const TrueTime blocked = to_node ? path.blocked_to : path.blocked_from;
  const TrueTime about = healing_
                             ? std::min({draw_.delay, draw_.ttl / 100, draw_.node_timeout / 20})
                             : draw_.delay * path.percent / 100;
  TrueTime when = now() + 1us + draw_span(about) + path.extra;
  if (when < blocked) when = blocked + draw_span(draw_.delay);
  return last = std::max(when, last + 1ns);
}

/// Called when something is sent over this connection; returns whether something on the path has
/// forgotten the connection.
bool World::is_forgotten(Client& client, int wire_number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(wire_number)];
  const TrueTime idle = now() - std::exchange(wire.used, now());
  if (!draw_.forgetful_paths || wire.forgotten || healing_ || idle < 12s) return wire.forgotten;
  const int node = client.server_of(wire_number);
  ++figures_.faults;
  trace("FAULT the connection ", wire_number + 1, " of client ", client.number + 1, " to node ",
        node + 1, " is forgotten on its path");
  if (detail::is_link(wire_number))
    paths_[client.number][static_cast<std::size_t>(node)].lost = true;
  return wire.forgotten = true;
}

/// The turn of a client's loop, as in the driver.
void World::turn(Client& client) {
  if (client.paused) return;
  const core::Time local = client.local(now());
  client.clocks.begin_turn(now());
  client.session->advance(local);
  while (const std::optional<detail::Session::Output> output = client.session->next(local)) {
    carry_out(client, *output);
  }
  if (std::exchange(client.blames_itself, false)) demand_no_leases(client);
  name_waiters(client);
  if (draw_.faults_follow_looks) look_at_candidates(client);
  const bool rest_is_late = draw_.in_pieces && draw_.focus == Focus::pieces && random_.one_in(4);
  client.session->each_wire_in_use([&](int wire) { write(client, wire, rest_is_late); });
  plan_turn(client);
}

void World::plan_turn(Client& client) {
  const TrueTime due = client.when(client.session->deadline());
  if (due == TrueTime::max() || due >= client.waking) return;
  client.waking = due;
  at(due, [this, number = client.number, life = client.life, due] {
    Client& woken = clients_[number];
    if (woken.life != life) return;
    if (woken.waking == due) woken.waking = TrueTime::max();
    turn(woken);
  });
}

void World::write(Client& client, int number, bool rest_is_late) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  if (!wire.open) return;
  redis::Wire& said = client.session->wire(number);
  if (said.output().empty()) return;
  std::string bytes(said.output());
  const int node = client.server_of(number);
  said.wrote(bytes.size());
  if (is_forgotten(client, number)) return;
  TrueTime when = arrival(client.number, node, true, wire.last_to);
  if (core::planted(core::Mutant::release_overtakes) &&
      bytes.find(redis::release_script.sha1) != bytes.npos) {
    when = now() + 1us;
  }
  const auto& asks = draw_.capacity == 0 ? redis::acquire_script : redis::acquire_permit_script;
  if (draw_.faults_follow_rivals && bytes.find(asks.sha1) != bytes.npos) {
    wire.last_to = when = outlast(client, node, when);
  }
  if (draw_.faults_follow_raises && bytes.find(redis::raise_script.sha1) != bytes.npos) {
    wire.last_to = when = hinder(client, node, when);
  }
  if (draw_.in_pieces && !healing_ && random_.one_in(2)) {
    std::string rest = bytes.substr(random_.index(bytes.size()));
    bytes.resize(bytes.size() - rest.size());
    deliver_at(when, node, wire.connection, std::move(bytes));
    bytes = std::move(rest);
    when = arrival(client.number, node, true, wire.last_to);
    if (rest_is_late) {
      wire.last_to = when = std::max(when, now() + draw_span(draw_.ttl / 4));
    }
  }
  deliver_at(when, node, wire.connection, std::move(bytes));
}

void World::deliver_at(TrueTime when, int node, int connection, std::string bytes) {
  at(when, [this, node, connection, bytes = std::move(bytes)]() mutable {
    deliver(node, connection, std::move(bytes));
  });
}

void World::open(Client& client, int number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  const int node = client.server_of(number);
  wire.last_to = wire.last_from = wire.used = now();
  wire.forgotten = false;
  const Peer peer{client.number, client.life, ++wire.epoch, number};
  at(arrival(client.number, node, true, wire.last_to), [this, node, peer] {
    Client& caller = clients_[peer.client];
    Client::Wire& mine = caller.wires[static_cast<std::size_t>(peer.wire)];
    if (caller.life != peer.life || mine.epoch != peer.epoch) return;
    Server& server = nodes_[static_cast<std::size_t>(node)];
    const bool there = server.running();
    if (there) {
      mine.connection = server.connect();
      if (stranger(caller)) server.forbid(mine.connection, "other");
      peers_[static_cast<std::size_t>(node)][mine.connection] = peer;
    }
    at(arrival(peer.client, node, false, mine.last_from), [this, node, peer, there] {
      for_client(peer.client, peer.life, [this, node, peer, there] {
        Client& called = clients_[peer.client];
        Client::Wire& its = called.wires[static_cast<std::size_t>(peer.wire)];
        if (its.epoch != peer.epoch) return;
        redis::Wire& opened = called.session->wire(peer.wire);
        if (there) {
          its.open = true;
          opened.on_open();
        } else {
          ++its.epoch;
          opened.on_closed(called.local(now()), "Connection refused");
        }
        called.session->touched(peer.wire);
      });
    });
  });
}

/// The client closes its connection: what it has written may still arrive and run.
void World::shut(Client& client, int number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  const int node = client.server_of(number);
  ++wire.epoch;
  if (!std::exchange(wire.open, false) && wire.connection < 0) return;
  if (detail::is_link(number)) paths_[client.number][static_cast<std::size_t>(node)].lost = true;
  if (wire.forgotten) {  // nor does the node learn of it
    wire.connection = -1;
    return;
  }
  at(arrival(client.number, node, true, wire.last_to),
     [this, node, connection = std::exchange(wire.connection, -1)] {
       nodes_[static_cast<std::size_t>(node)].hang_up(connection);
       serve(node);
     });
}

/// Breaks the connection. What is under way to the node may arrive.
void World::lose(Client& client, int wire_number, bool runs_on) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(wire_number)];
  const int node = client.server_of(wire_number);
  if (!wire.open) return;
  // Nothing is requested on the node's other connection.
  if (detail::is_link(wire_number))
    paths_[client.number][static_cast<std::size_t>(node)].lost = true;
  const int connection = std::exchange(wire.connection, -1);
  if (runs_on) {
    at(arrival(client.number, node, true, wire.last_to), [this, node, connection] {
      nodes_[static_cast<std::size_t>(node)].hang_up(connection);
      serve(node);
    });
  } else {
    nodes_[static_cast<std::size_t>(node)].drop(connection);
  }
  const std::uint64_t epoch = wire.epoch;
  for_client(client.number, client.life, [this, number = client.number, wire_number, epoch] {
    Client& hit = clients_[number];
    Client::Wire& its = hit.wires[static_cast<std::size_t>(wire_number)];
    if (its.epoch != epoch) return;
    ++its.epoch;
    its.open = false;
    hit.session->wire(wire_number).on_closed(hit.local(now()), "Connection reset by peer");
    hit.session->touched(wire_number);
  });
}

/// Breaks the client's connection to this node, or its second one.
void World::lose_node(Client& client, int node, bool subscriber, bool runs_on) {
  const int number = client.number_of(node);
  if (number < 0) return;
  lose(client, subscriber ? detail::subscriber_of(number) : number, runs_on);
}

void World::lose_all(int node) {
  for (Client& client : clients_) {
    lose_node(client, node, false, false);
    lose_node(client, node, true, false);
  }
}

void World::deliver(int node, int connection, std::string bytes) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.is_open(connection)) return;
  server.feed(connection, bytes);
  serve(node);
}

/// Executes what has arrived, connection by connection in a drawn order.
void World::serve(int node) {
  Server& server = nodes_[static_cast<std::size_t>(node)];
  if (!server.running() || server.paused()) return;
  auto& peers = peers_[static_cast<std::size_t>(node)];
  std::vector<int> connections = server.waiting();
  for (std::size_t i = connections.size(); i > 1; --i) {
    std::swap(connections[i - 1], connections[random_.index(i)]);
  }
  for (const int connection : connections) {
    while (const Words* next = server.next(connection)) {
      if (history_.is_written()) {
        std::string words;
        for (const std::string& word : *next) words += " " + word.substr(0, 44);
        trace("  node ", node + 1, " connection ", connection, " runs", words.substr(0, 200));
      }
      const redis::Script* const script = script_of(*next);
      const std::vector<Owner> owners = owners_of(*next, script);
      const std::vector<Renewed> renewals = renewals_of(*next, script);
      std::vector<TrueTime> before;
      for (const Renewed& each : renewals) before.push_back(time_of(node, each));
      server.execute_next(connection, now());
      ++figures_.commands;
      look_at(node);
      for (std::size_t i = 0; i < renewals.size() && draw_.node_clocks_hold(); ++i) {
        look_at_renewal(node, renewals[i], before[i]);
      }
      std::string said = server.take_output(connection);
      const bool refused = said.find('-') != said.npos;
      for (const Owner& owner : owners) {
        if (owner.releases && refused) continue;
        look_at_owner(node, peers.at(connection).client, owner);
      }
      answer(node, connection, std::move(said));
      // Other connections to which the command has published a message.
      for (const int told : server.take_told()) {
        if (peers.contains(told)) answer(node, told, server.take_output(told));
      }
    }
  }
  // Removes the closed connections: hung-up ones after their last command; a killed one reports it.
  if (peers.size() == server.connections()) return;
  std::erase_if(peers, [&](const auto& one) {
    const auto& [connection, peer] = one;
    if (server.is_open(connection)) return false;
    Client& client = clients_[peer.client];
    Client::Wire& wire = client.wires[static_cast<std::size_t>(peer.wire)];
    if (client.life == peer.life && wire.epoch == peer.epoch) {
      at(now(),
         [this, wire = peer.wire, number = peer.client] { lose(clients_[number], wire, false); });
    }
    return true;
  });
}

/// Looks at the keys of a command's owner: after a release none may be there.
void World::look_at_owner(int node, std::size_t client, const Owner& owner) {
  if (owner.token.empty()) return;
  if (owner.releases) tidiness_.released(node, owner.token);
  const Server& server = nodes_[static_cast<std::size_t>(node)];
  const auto has = std::ranges::count_if(owner.keys, [&](const std::string& key) {
    return server.has_token(key, owner.token, now());
  });
  if (draw_.timing_holds()) {
    tidiness_.has_keys(node, owner.token, static_cast<std::size_t>(has), owner.keys.size());
  }
  if (has == 0) return;
  has_voted(node);
  if (!paths_[client][static_cast<std::size_t>(node)].lost) tidiness_.has_key(node, owner.token);
}

/// Looks at what a command has made of the node's counters and its enrolment.
void World::look_at(int node) {
  static const std::string enrolment(redis::enrolment_key);
  const Server& server = nodes_[static_cast<std::size_t>(node)];
  for (std::size_t lock = 0; lock < counters_.size(); ++lock) {
    const auto& [key, counter] = counters_[lock];
    order_.look(node, key, server, now(), draw_.nodes);
    const std::string* const text = server.text_of(counter, now());
    if (text != nullptr) fencing_.counter(node, lock, key, data::whole_number(*text).value());
  }
  const std::string* const record = server.text_of(enrolment, now());
  std::string& known = records_[static_cast<std::size_t>(node)];
  if (record == nullptr) return on_disk_[static_cast<std::size_t>(node)].reset();
  if (*record == known) return;
  if (!known.empty()) all_ask();
  known = *record;
  if (draw_.lists_change()) look_at_founding(node);
  // If too few nodes remembered, the order of tokens rests on the nodes' clocks.
  const auto read = redis::EnrolmentRecord::parse(known);
  if (read && read->since != 0 && !draw_.nodes_agree) fencing_.rests_on_clocks();
}

void World::answer(int node, int connection, std::string bytes) {
  const Peer peer = peers_[static_cast<std::size_t>(node)].at(connection);
  if (history_.is_written()) {
    std::string shown = bytes.substr(0, 60);
    std::ranges::replace_if(
        shown, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    trace("  node ", node + 1, " connection ", connection, " says ", shown);
  }
  Client& client = clients_[peer.client];
  Client::Wire& wire = client.wires[static_cast<std::size_t>(peer.wire)];
  if (detail::is_link(peer.wire)) fall_silent(peer.client, node);
  if (bytes.empty() || client.life != peer.life || wire.epoch != peer.epoch) return;
  if (is_forgotten(client, peer.wire)) return;
  at(arrival(peer.client, node, false, wire.last_from),
     [this, peer, bytes = std::move(bytes)]() mutable {
       for_client(peer.client, peer.life, [this, peer, bytes = std::move(bytes)] {
         Client& told = clients_[peer.client];
         const Client::Wire& its = told.wires[static_cast<std::size_t>(peer.wire)];
         if (its.epoch != peer.epoch || !its.open) return;
         told.session->wire(peer.wire).on_bytes(bytes);
         told.session->touched(peer.wire);
       });
     });
}

}  // namespace quorumlock::sim
