#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/conditions.hpp"
#include "sim/connections.hpp"
#include "sim/database.hpp"
#include "sim/database_view.hpp"
#include "sim/known_scripts.hpp"
#include "sim/server_run.hpp"
#include "sim/wall_clock.hpp"

namespace quorumlock::sim {

struct ServerSettings {
  std::uint64_t seed = 1;               ///< the seed of its run ids, different for each server
  bool durable = false;                 ///< appendonly yes: keeps its data over a restart
  std::string append_fsync = "always";  ///< the setting that it reports; it acts as with "always"
  bool no_append_fsync_on_rewrite = false;  ///< the setting that it reports
  std::string password = {};  ///< the password of the user "default"; empty: no AUTH is needed
  int tcp_port = 6379;
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

  /// Executes one command. Returns false if there is none, or if the server executes nothing now.
  bool execute_next(int connection, TrueTime now);

  /// The last command, and what it has written.
  [[nodiscard]] const Journal& journal() const { return journal_; }

  [[nodiscard]] std::int64_t wall_us(TrueTime now) const;
  /// Removes expired keys for good, as Redis does ten times a second: a clock that steps back does
  /// not bring them back.
  void reap(TrueTime now);

  // Events that may happen to the server.
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
  /// The server was made a replica of another one, and is a master again, with the other's data.
  void promote(Data of_the_other);
  /// Forgets that it was promoted, as a master does an hour after its last replica has left.
  void forget_promotion() { run_.forget_promotion(); }

  /// The view of database 0 for checkers.
  [[nodiscard]] DatabaseView at(TrueTime now) const;
  [[nodiscard]] const ServerRun& run() const { return run_; }
  [[nodiscard]] const ServerSettings& settings() const { return settings_; }

  // The server's parts. The simulator acts directly on a part if only that one is concerned.
  Connections connections;
  WallClock clock;
  Data data;  ///< may change in the same run: by a resync, or a snapshot put back
  KnownScripts scripts;
  Conditions conditions;

 private:
  void begin_run(TrueTime now);
  std::string execute(Connection& connection, const Words& words, TrueTime now);
  Moment moment_of(const Connection& connection, TrueTime now);
  /// The command whose flags decide whether this one is refused.
  [[nodiscard]] const Command& flags_of(const Command& command, const Words& words) const;
  /// Executes a command that is about the server rather than its data.
  std::string about_server(Connection& connection, std::string_view name, const Words& words,
                           TrueTime now);
  std::string eval(const Connection& connection, const Words& words, bool by_sha, TrueTime now);

  ServerSettings settings_;
  ServerRun run_;
  Journal journal_;
  std::optional<Data> file_;  // set once the file is no longer written to
  bool running_ = true;
  bool paused_ = false;
};

}  // namespace quorumlock::sim
