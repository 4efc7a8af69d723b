#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/requests.hpp"

namespace quorumlock::sim {

/// One client of a server, with the channels that it listens to, the requests that were not
/// executed yet and the output that was not sent yet.
struct Connection {
  std::int64_t client_id = 0;
  std::string name;  ///< as CLIENT SETNAME has set it
  int db = 0;
  bool authenticated = false;
  bool hung_up = false;
  std::set<std::string> channels;  ///< channels that it listens to
  /// Its user may not touch this lock's keys, nor write the keys of the node. Empty: it may.
  std::string forbidden;
  int refused_writes = 0;  ///< how often it has tried to write the keys of the node
  Requests requests;
  std::string output;
};

/// The connections of a server. Their numbers are never used again, unlike the ids that CLIENT ID
/// returns.
class Connections {
 public:
  int open();
  /// Forbids the keys of that lock to the connection's user, and writes of the keys of the node.
  void forbid(int number, std::string lock) { at(number).forbidden = std::move(lock); }
  /// Ignored if the connection is gone.
  void feed(int number, std::string_view bytes);
  /// Called when the peer has closed the connection: commands that have arrived may still be
  /// executed, without replies. The connection is gone after its last command.
  void hang_up(int number);
  /// Removes the connection, with everything that was not executed.
  void drop(int number) { all_.erase(number); }
  /// Removes the connection of the client with this id, unless it is the caller's own. Returns
  /// how many there were.
  std::int64_t kill(std::int64_t client_id, const Connection& caller);
  /// Removes all connections, and the ids of clients begin again.
  void drop_all();
  /// Returns false if the connection never existed, was dropped, killed by CLIENT KILL or lost in a
  /// crash.
  [[nodiscard]] bool is_open(int number) const { return all_.contains(number); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// What was not sent yet; nothing if the connection is gone.
  [[nodiscard]] std::string_view output(int number) const {
    const auto found = all_.find(number);
    return found != all_.end() ? std::string_view(found->second.output) : std::string_view();
  }
  /// Whether the connection has a name, or is gone.
  [[nodiscard]] bool has_name(int number) const {
    const auto found = all_.find(number);
    return found == all_.end() || !found->second.name.empty();
  }
  /// The connections on which a command has arrived and waits, the oldest first.
  [[nodiscard]] std::vector<int> waiting() const;
  /// The command that is to be executed next; null if there is none.
  [[nodiscard]] const Words* next(int number) const;
  [[nodiscard]] Connection& at(int number) { return all_.at(number); }
  /// Calls this for each connection, the oldest first.
  template <class F>
  void for_each(F&& call) const {
    for (const auto& [number, connection] : all_) call(connection);
  }
  /// Sends the message to all connections that listen to the channel, and returns their number.
  int publish(const std::string& channel, const std::string& message);
  /// The replies and messages since the last call.
  std::string take_output(int number);
  /// The connections that have got a message since the last call.
  std::set<int> take_told() { return std::exchange(told_, {}); }

 private:
  std::map<int, Connection> all_;
  std::set<int> told_;
  int last_number_ = 0;
  std::int64_t last_client_id_ = 0;
};

}  // namespace quorumlock::sim
