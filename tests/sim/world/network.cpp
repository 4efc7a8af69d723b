#include "sim/world/network.hpp"

#include <algorithm>
#include <utility>

#include "lock/mutants.hpp"
#include "sim/world/world.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

Network::Network(World& world)
    : Machine(world),
      peers_(static_cast<std::size_t>(draw_.servers())),
      free_at_(peers_.size()),
      last_(peers_.size()) {}

/// Called when something is sent over this connection; returns whether something on the path has
/// forgotten the connection.
bool Network::is_forgotten(Client& client, int wire_number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(wire_number)];
  const TrueTime idle = now() - std::exchange(wire.used, now());
  if (!draw_.forgetful_paths || wire.forgotten || scene_.healing || idle < 12s)
    return wire.forgotten;
  const int node = client.server_of(wire_number);
  ++figures_.faults;
  trace("FAULT the connection ", wire_number + 1, " of client ", client.number + 1, " to node ",
        node + 1, " is forgotten on its path");
  if (detail::is_link(wire_number)) world_.paths.between(client.number, node).lost = true;
  return wire.forgotten = true;
}

void Network::write(Client& client, int number, bool rest_is_late) {
  if (!client.wires[static_cast<std::size_t>(number)].open) return;
  redis::Wire& said = client.session->wire(number);
  if (said.output().empty()) return;
  std::string bytes(said.output());
  said.wrote(bytes.size());
  if (!is_forgotten(client, number)) send(client, number, std::move(bytes), rest_is_late);
}

void Network::send(Client& client, int number, std::string bytes, bool rest_is_late) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  const int node = client.server_of(number);
  TrueTime when = world_.paths.arrival(client.number, node, true, wire.last_to);
  // A release would tear up a command whose second piece is still to come.
  if (core::planted(core::Mutant::release_overtakes) && !draw_.in_pieces &&
      bytes.find(redis::release_script.sha1) != bytes.npos) {
    when = now() + 1us;
  }
  const auto& asks = draw_.capacity == 0 ? redis::acquire_script : redis::acquire_all_script;
  if (draw_.faults_follow_rivals && bytes.find(asks.sha1) != bytes.npos) {
    wire.last_to = when = world_.faults.outlast(client, node, when);
  }
  if (draw_.faults_follow_raises && bytes.find(redis::raise_script.sha1) != bytes.npos) {
    wire.last_to = when = world_.faults.hinder(client, node, when);
  }
  if (draw_.stale_source) {
    wire.last_to = when = world_.stale_source.delay(client, node, bytes, when);
  }
  if (draw_.in_pieces && !scene_.healing && random_.one_in(2)) {
    std::string rest = bytes.substr(random_.index(bytes.size()));
    bytes.resize(bytes.size() - rest.size());
    deliver_at(when, node, wire.connection, std::move(bytes));
    bytes = std::move(rest);
    when = world_.paths.arrival(client.number, node, true, wire.last_to);
    if (rest_is_late) {
      wire.last_to = when = std::max(when, now() + draw_span(draw_.ttl / 4));
    }
  }
  deliver_at(when, node, wire.connection, std::move(bytes));
}

void Network::deliver_at(TrueTime when, int node, int connection, std::string bytes) {
  at(when,
     [this, node, connection, bytes = std::move(bytes)] { deliver(node, connection, bytes); });
}

void Network::open(Client& client, int number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  const int node = client.server_of(number);
  wire.last_to = wire.last_from = wire.used = now();
  wire.forgotten = false;
  const Peer peer{client.number, client.life, ++wire.epoch, number};
  at(world_.paths.arrival(client.number, node, true, wire.last_to), [this, node, peer] {
    Client& caller = clients_[peer.client];
    Client::Wire& mine = caller.wires[static_cast<std::size_t>(peer.wire)];
    if (caller.life != peer.life || mine.epoch != peer.epoch) return;
    Server& server = node_at(node);
    const bool there = server.running();
    if (there) {
      mine.connection = server.connections.open();
      if (draw_.is_stranger(caller.number)) server.connections.forbid(mine.connection, "other");
      peers_[static_cast<std::size_t>(node)][mine.connection] = peer;
    }
    at(world_.paths.arrival(peer.client, node, false, mine.last_from), [this, peer, there] {
      world_.processes.run(peer.client, peer.life, [this, peer, there] {
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

void Network::shut(Client& client, int number) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(number)];
  const int node = client.server_of(number);
  ++wire.epoch;
  if (!std::exchange(wire.open, false) && wire.connection < 0) return;
  if (detail::is_link(number)) world_.paths.between(client.number, node).lost = true;
  if (wire.forgotten) {  // the node does not learn of it either
    wire.connection = -1;
    return;
  }
  at(world_.paths.arrival(client.number, node, true, wire.last_to),
     [this, node, connection = std::exchange(wire.connection, -1)] {
       node_at(node).connections.hang_up(connection);
       serve(node);
     });
}

void Network::lose(Client& client, int wire_number, bool runs_on) {
  Client::Wire& wire = client.wires[static_cast<std::size_t>(wire_number)];
  const int node = client.server_of(wire_number);
  if (!wire.open) return;
  // Nothing is requested on the node's other connection.
  if (detail::is_link(wire_number)) world_.paths.between(client.number, node).lost = true;
  const int connection = std::exchange(wire.connection, -1);
  if (runs_on) {
    at(world_.paths.arrival(client.number, node, true, wire.last_to), [this, node, connection] {
      node_at(node).connections.hang_up(connection);
      serve(node);
    });
  } else {
    node_at(node).connections.drop(connection);
  }
  const std::uint64_t epoch = wire.epoch;
  world_.processes.run(
      client.number, client.life, [this, number = client.number, wire_number, epoch] {
        Client& hit = clients_[number];
        Client::Wire& its = hit.wires[static_cast<std::size_t>(wire_number)];
        if (its.epoch != epoch) return;
        ++its.epoch;
        its.open = false;
        hit.session->wire(wire_number).on_closed(hit.local(now()), "Connection reset by peer");
        hit.session->touched(wire_number);
      });
}

void Network::lose_node(Client& client, int node, bool subscriber, bool runs_on) {
  const int number = client.number_of(node);
  if (number < 0) return;
  lose(client, subscriber ? detail::subscriber_of(number) : number, runs_on);
}

std::string Network::name_of(const Client& client, int node) {
  const int number = client.number_of(node);
  if (number < 0) return {};
  const int connection = client.wires[static_cast<std::size_t>(number)].connection;
  Connections& connections = node_at(node).connections;
  return connections.is_open(connection) ? connections.at(connection).name : std::string();
}

void Network::lose_all(int node) {
  for (Client& client : clients_) {
    lose_node(client, node, false, false);
    lose_node(client, node, true, false);
  }
}

void Network::deliver(int node, int connection, const std::string& bytes) {
  Server& server = node_at(node);
  if (!server.connections.is_open(connection)) return;
  server.connections.feed(connection, bytes);
  serve(node);
}

/// Whether a slow node executes a command now; if it does not, it begins with this one. A command
/// that has many locks takes longer, within reason.
bool Network::is_at_work(int node, const Words& words) {
  constexpr std::size_t of_some_locks = 512;
  TrueTime& free_at = free_at_[static_cast<std::size_t>(node)];
  if (now() < free_at) return true;
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  const auto times = static_cast<int>(1 + std::min<std::size_t>(bytes / of_some_locks, 3));
  free_at =
      now() + std::max(service_, std::min(times * service_, TrueTime(draw_.node_timeout) / 8));
  at(free_at, [this, node] { serve(node); });
  return false;
}

void Network::serve(int node) {
  Server& server = node_at(node);
  if (!server.running() || server.paused()) return;
  auto& peers = peers_[static_cast<std::size_t>(node)];
  std::vector<int> waiting = server.connections.waiting();
  for (std::size_t i = waiting.size(); i > 1; --i) {
    std::swap(waiting[i - 1], waiting[random_.index(i)]);
  }
  // A slow node serves its connections in turn.
  int& last = last_[static_cast<std::size_t>(node)];
  const auto turn = [last](int one) { return std::pair(one <= last, one); };
  if (service_ > 0s) std::ranges::sort(waiting, {}, turn);
  for (const int connection : waiting) {
    while (const Words* next = server.connections.next(connection)) {
      if (service_ > 0s && is_at_work(node, *next)) break;
      last = connection;
      if (scene_.history.is_written()) {
        std::string words;
        for (const std::string& word : *next) words += " " + word.substr(0, 44);
        trace("  node ", node + 1, " connection ", connection, " runs", words.substr(0, 200));
      }
      const Observer::Expected expected = world_.observer.before_command(node, *next);
      if (server.execute_next(connection, now())) {
        const Peer& peer = peers.at(connection);
        world_.observer.show(node, connection, static_cast<int>(peer.client), peer.life);
      }
      ++figures_.commands;
      if (server.connections.is_open(connection) &&
          server.connections.at(connection).refused_writes > 1) {
        scene_.history.report("client " + std::to_string(peers.at(connection).client + 1) +
                              " repeats a write that its user may not make");
      }
      std::string said = server.connections.take_output(connection);
      world_.observer.after_command(node, peers.at(connection).client, expected, said);
      answer(node, connection, std::move(said));
      // The command may have published messages to other connections.
      for (const int told : server.connections.take_told()) {
        if (peers.contains(told)) answer(node, told, server.connections.take_output(told));
      }
    }
  }
  // Removes the connections that are closed: a hung-up one after its last command, and a killed
  // one, which its client notices.
  if (peers.size() == server.connections.size()) return;
  std::erase_if(peers, [&](const auto& one) {
    const auto& [connection, peer] = one;
    if (server.connections.is_open(connection)) return false;
    Client& client = clients_[peer.client];
    Client::Wire& wire = client.wires[static_cast<std::size_t>(peer.wire)];
    if (client.life == peer.life && wire.epoch == peer.epoch) {
      at(now(),
         [this, wire = peer.wire, number = peer.client] { lose(clients_[number], wire, false); });
    }
    return true;
  });
}

void Network::answer(int node, int connection, std::string bytes) {
  const Peer peer = peers_[static_cast<std::size_t>(node)].at(connection);
  if (scene_.history.is_written()) {
    std::string shown = bytes.substr(0, 60);
    std::ranges::replace_if(
        shown, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    trace("  node ", node + 1, " connection ", connection, " says ", shown);
  }
  Client& client = clients_[peer.client];
  Client::Wire& wire = client.wires[static_cast<std::size_t>(peer.wire)];
  if (detail::is_link(peer.wire)) world_.faults.fall_silent(peer.client, node);
  if (bytes.empty() || client.life != peer.life || wire.epoch != peer.epoch) return;
  if (is_forgotten(client, peer.wire)) return;
  at(world_.paths.arrival(peer.client, node, false, wire.last_from),
     [this, peer, bytes = std::move(bytes)]() mutable {
       world_.processes.run(peer.client, peer.life, [this, peer, bytes = std::move(bytes)] {
         Client& told = clients_[peer.client];
         const Client::Wire& its = told.wires[static_cast<std::size_t>(peer.wire)];
         if (its.epoch != peer.epoch || !its.open) return;
         told.session->wire(peer.wire).on_bytes(bytes);
         told.session->touched(peer.wire);
       });
     });
}

}  // namespace quorumlock::sim
