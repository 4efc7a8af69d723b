#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace quorumlock::local {

/// How to run a redis-server of one's own.
struct ServerSettings {
  std::filesystem::path dir;  ///< its data, log and pid file; made if it is not there
  int port = 0;               ///< on 127.0.0.1; 0: a unix socket in `dir` only
  bool durable = true;        ///< appendonly yes, appendfsync always; else no persistence at all
  /// More settings, as on redis-server's command line: {"--maxmemory", "1mb"}.
  std::vector<std::string> more = {};
  /// Goes on when this program ends without having ended it, be it by SIGKILL.
  bool outlive = false;
  /// More environment, as {"NAME=value"}, before this program's own.
  std::vector<std::string> environment = {};
};

/// A port of 127.0.0.1 that nobody listens on now.
int free_port();
/// Whether somebody listens on this port of 127.0.0.1.
bool port_in_use(int port);
/// Whether a server with these settings answers PING within the patience.
bool answers(const ServerSettings& settings, std::chrono::milliseconds patience);
/// The command line, after its name, of a redis-server with these settings.
std::vector<std::string> arguments_of(const ServerSettings& settings);

/// One redis-server process that this program started, in a session of its own: no Ctrl-C meant
/// for this program reaches it. Move-only; the destructor kills it, unless in a forked child.
/// Errors are std::runtime_error with a sentence that ends with the server's own log where it has
/// one.
class Server {
 public:
  /// Starts it and waits until it answers PING.
  static Server start(ServerSettings settings,
                      std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// Starts many side by side, then waits for all.
  static std::vector<Server> start_all(
      std::vector<ServerSettings> settings,
      std::chrono::milliseconds patience = std::chrono::seconds(10));

  Server(Server&& other) noexcept;
  Server& operator=(Server&& other) noexcept;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] const ServerSettings& settings() const { return settings_; }
  /// As in Options::nodes: redis://127.0.0.1:PORT or unix:///DIR/redis.sock.
  [[nodiscard]] std::string url() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }

  /// SIGKILL, and reaped: nothing is flushed.
  void kill();
  /// Starts it again with the same settings and data.
  void restart();
  /// SIGSTOP: it keeps its sockets and answers nothing. Returns once it has stopped.
  void pause();
  /// SIGCONT.
  void resume();
  /// Lets it run on when this object goes; the pid file in its directory names it.
  void detach();

 private:
  explicit Server(ServerSettings settings) : settings_(std::move(settings)) {}
  void launch();
  void await(std::chrono::steady_clock::time_point deadline) const;

  ServerSettings settings_;
  pid_t pid_ = -1;
  pid_t starter_ = -1;  ///< the process that it belongs to
};

}  // namespace quorumlock::local
