#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/conditions.hpp"
#include "sim/database.hpp"
#include "sim/database_view.hpp"
#include "sim/known_scripts.hpp"
#include "sim/requests.hpp"
#include "sim/server_run.hpp"
#include "sim/wall_clock.hpp"

namespace quorumlock::sim {

struct ServerSettings {
  std::uint64_t seed = 1;               ///< seeds its run ids: another number for each server
  bool durable = false;                 ///< appendonly yes: keeps its data over a restart
  std::string append_fsync = "always";  ///< the setting that it reports; it acts as with "always"
  bool no_append_fsync_on_rewrite = false;  ///< the setting that it reports
  std::string password = {};  ///< the password of the user "default"; empty: no AUTH is needed
  int tcp_port = 6379;
  std::string deletes_by = {};  ///< "delex", "delifeq": the command of later servers that it has
};

/// One simulated redis-server 7.0, as far as the library uses one. A plain value: it has no socket,
/// clock or randomness of its own, and a copy is independent.
///
/// Bytes that are fed to a connection wait there until the simulator has them executed, one command
/// at a time, at the true time that it passes; time must not go back from call to call. Throws
/// std::logic_error for anything that is not a command or script of the library.
class Server {
 public:
  using Data = std::map<int, Database>;  ///< indexed by the database's number

  explicit Server(ServerSettings settings = {}, WallClock its_clock = WallClock(),
                  TrueTime now = {});

  // Connections. Their numbers are never used again, unlike the ids that CLIENT ID returns.
  int connect();
  /// Forbids the connection's user the keys of that lock.
  void forbid(int connection, std::string lock) {
    connections_.at(connection).forbidden = std::move(lock);
  }
  /// Ignored if the connection is gone.
  void feed(int connection, std::string_view bytes);
  /// The peer has closed: what has arrived may still be executed, without replies. The connection
  /// is gone after its last command.
  void hang_up(int connection);
  /// Removes the connection, with everything that was not executed.
  void drop(int connection);
  /// Returns false if the connection never existed, was dropped, killed by CLIENT KILL or lost in a
  /// crash.
  [[nodiscard]] bool is_open(int connection) const { return connections_.contains(connection); }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  /// The connections on which a command has arrived and waits, the oldest first.
  [[nodiscard]] std::vector<int> waiting() const;
  /// The command that execute_next would execute; null if there is none.
  [[nodiscard]] const Words* next(int connection) const;
  /// Executes one command. Returns false if there is none, or if the server executes nothing now.
  bool execute_next(int connection, TrueTime now);
  /// The replies and messages since the last call.
  std::string take_output(int connection);
  /// The connections that have got a message since the last call.
  std::set<int> take_told() { return std::exchange(told_, {}); }

  // The server's clock.
  [[nodiscard]] std::int64_t wall_us(TrueTime now) const;
  /// Removes expired keys for good, as Redis does ten times a second: a clock that steps back does
  /// not bring them back.
  void reap(TrueTime now);

  // What may happen to the server.
  /// Loses all connections; nothing is executed until it is restarted.
  void crash();
  /// Starts again with another run id. A durable server keeps its data, without what has expired.
  void restart(TrueTime now);
  void pause() { paused_ = true; }
  void resume() { paused_ = false; }
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] bool paused() const { return paused_; }
  /// Puts another server in its place, with an older copy of the data: connections are lost. The
  /// new one knows that it was a replica if `knows`, that is unless it was restarted since.
  void fail_over(Data older, TrueTime now, bool knows = false);
  /// CONFIG SET appendonly no: the file stays as it is, and the next run starts from it.
  void stop_writing();
  [[nodiscard]] bool writes() const { return settings_.durable && !file_; }
  /// Sets the number of attached replicas.
  void set_replicas(int count) { run_.set_replicas(count); }
  /// The server was made a replica of another one, and is a master again, with the other's data.
  void promote(Data of_the_other);
  /// Forgets that it was promoted, as a master does an hour after its last replica has left.
  void forget_promotion() { run_.forget_promotion(); }

  /// What checkers may see of database 0.
  [[nodiscard]] DatabaseView at(TrueTime now) const;
  [[nodiscard]] const ServerRun& run() const { return run_; }

  // Its parts, on which the simulator acts directly if only one of them is concerned.
  WallClock clock;
  Data data;  ///< may change in the same run: by a resync, or a snapshot put back
  KnownScripts scripts;
  Conditions conditions;

 private:
  struct Connection {
    std::int64_t client_id = 0;
    int db = 0;
    bool authenticated = false;
    bool hung_up = false;
    std::set<std::string> channels;  ///< channels that it listens to
    std::string forbidden;           ///< the lock whose keys it may not touch; empty: none
    Requests requests;
    std::string output;
  };

  void begin_run(TrueTime now);
  std::string execute(Connection& connection, const Words& words, TrueTime now);
  std::string about_server(Connection& connection, std::string_view name, const Words& words,
                           TrueTime now);
  std::string auth(Connection& connection, const Words& words) const;
  std::string select(Connection& connection, const Words& words) const;
  static std::string subscribe(Connection& connection, const Words& words, bool on);
  int publish(const std::string& channel, const std::string& message);
  static std::string client_setname(const Words& words);
  std::string client_kill(const Connection& self, const Words& words);
  std::string eval(const Connection& connection, const Words& words, bool by_sha, TrueTime now);
  [[nodiscard]] std::string info(const Words& words, TrueTime now) const;
  [[nodiscard]] std::string config_get(const Words& words) const;

  ServerSettings settings_;
  std::map<int, Connection> connections_;
  std::set<int> told_;
  int last_connection_ = 0;
  std::int64_t last_client_id_ = 0;
  ServerRun run_;
  std::optional<Data> file_;  // set once the file is no longer written to
  bool running_ = true;
  bool paused_ = false;
};

}  // namespace quorumlock::sim
