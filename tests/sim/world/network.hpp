#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The connections between clients and nodes: they carry bytes in order, each message with a delay
/// of its own, and let the nodes execute the commands that have arrived.
class Network : Machine {
 public:
  explicit Network(World& world);
  void open(Client& client, int number);
  /// Closes the client's end of a connection: commands that the client has written may still arrive
  /// and run.
  void shut(Client& client, int number);
  /// Sends the bytes that the client has written. If they go in two pieces and `rest_is_late` is
  /// set, the second piece is late.
  void write(Client& client, int number, bool rest_is_late);
  /// Executes the commands that have arrived, connection by connection in a drawn order.
  void serve(int node);
  /// Breaks the connection. Commands under way to the node still arrive if `runs_on` is set.
  void lose(Client& client, int wire_number, bool runs_on);
  /// The name of the client's connection to this node, as CLIENT LIST has it; empty: none.
  [[nodiscard]] std::string name_of(const Client& client, int node);
  /// Breaks the client's connection to this node, or the second one if `subscriber` is set.
  void lose_node(Client& client, int node, bool subscriber, bool runs_on);
  void lose_all(int node);
  /// From now on a node takes this long for each command, and longer for one with many locks.
  void slow_down(TrueTime service) { service_ = service; }

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

  bool is_at_work(int node, const Words& words);

  std::vector<std::map<int, Peer>> peers_;  ///< by node and connection
  TrueTime service_{};
  std::vector<TrueTime> free_at_;  ///< by node: when it has done its last command
  std::vector<int> last_;          ///< by node: the connection that the command came from
};

}  // namespace quorumlock::sim
