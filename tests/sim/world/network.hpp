#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The connections between clients and nodes: they carry bytes in order, each message with a delay
/// of its own, and let the nodes execute what has arrived.
class Network : Machine {
 public:
  explicit Network(World& world);
  void open(Client& client, int number);
  /// The client closes its connection: what it has written may still arrive and run.
  void shut(Client& client, int number);
  /// Sends what the client has written. Of two pieces the second is late if `rest_is_late`.
  void write(Client& client, int number, bool rest_is_late);
  /// Executes what has arrived, connection by connection in a drawn order.
  void serve(int node);
  /// Breaks the connection. What is under way to the node may arrive.
  void lose(Client& client, int wire_number, bool runs_on);
  /// Breaks the client's connection to this node, or its second one.
  void lose_node(Client& client, int node, bool subscriber, bool runs_on);
  void lose_all(int node);

 private:
  /// The client's end of a node's connection.
  struct Peer {
    std::size_t client, life;
    std::uint64_t epoch;
    int wire;
  };
  bool is_forgotten(Client& client, int wire_number);
  void send(Client& client, int number, std::string bytes, bool rest_is_late);
  void deliver(int node, int connection, const std::string& bytes);
  void deliver_at(TrueTime when, int node, int connection, std::string bytes);
  void answer(int node, int connection, std::string bytes);

  std::vector<std::map<int, Peer>> peers_;  ///< by node and connection
};

}  // namespace quorumlock::sim
