#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quorumlock::local {

/// The port for TLS of a redis-server of our own, and the files that it needs.
struct ServerTls {
  std::filesystem::path ca_file;  ///< the authority that clients' certificates must come from
  std::filesystem::path cert_file;
  std::filesystem::path key_file;
  int port = 0;
  bool wants_certificates = false;  ///< clients without a certificate are refused
};

/// The settings of a redis-server of our own.
struct ServerSettings {
  std::filesystem::path dir;  ///< data, log and pid file; made if it does not exist
  int port = 0;               ///< a port of 127.0.0.1; 0: a unix socket in `dir` only
  bool durable = true;        ///< appendonly yes, appendfsync always; else no persistence at all
  /// Additional settings, as on redis-server's command line: {"--maxmemory", "1mb"}.
  std::vector<std::string> more = {};
  /// The server goes on if this program ends without having ended it, even by SIGKILL.
  bool outlive = false;
  /// Additional environment, as {"NAME=value"}, before this program's own.
  std::vector<std::string> environment = {};
  std::optional<ServerTls> tls = std::nullopt;  ///< TLS in addition to `port` or the unix socket
};

/// Returns a port of 127.0.0.1 that is not in use now.
int free_port();
/// Whether this port of 127.0.0.1 is in use.
bool port_in_use(int port);
/// Whether a server with these settings answers PING within `patience`.
bool answers(const ServerSettings& settings, std::chrono::milliseconds patience);
/// Returns the command line, without the name, of a redis-server with these settings.
std::vector<std::string> arguments_of(const ServerSettings& settings);

/// One redis-server process that this program started, in its own session so that Ctrl-C does not
/// reach it. Move-only; the destructor kills the server, unless in a forked child. Errors are
/// std::runtime_error with a sentence that ends with the server's log if there is one.
class Server {
 public:
  /// Starts a server and waits until it answers PING.
  static Server start(ServerSettings settings,
                      std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// Starts many servers in parallel, then waits for all.
  static std::vector<Server> start_all(
      std::vector<ServerSettings> settings,
      std::chrono::milliseconds patience = std::chrono::seconds(10));

  Server(Server&& other) noexcept;
  Server& operator=(Server&& other) noexcept;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  [[nodiscard]] const ServerSettings& settings() const { return settings_; }
  /// Returns the URL as in Options::nodes: rediss://127.0.0.1:PORT if the server has a port for
  /// TLS, else plain_url().
  [[nodiscard]] std::string url() const;
  /// Returns redis://127.0.0.1:PORT or unix:///DIR/redis.sock.
  [[nodiscard]] std::string plain_url() const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() const { return pid_ > 0; }

  /// Sends SIGKILL and reaps the server: nothing is flushed.
  void kill();
  /// Starts the server again with the same settings and data.
  void restart();
  /// Sends SIGSTOP: the server keeps its sockets and does not answer. Returns once it has stopped.
  void pause();
  /// Sends SIGCONT.
  void resume();
  /// Lets the server outlive this object; the pid file in its directory names it.
  void detach();

 private:
  explicit Server(ServerSettings settings) : settings_(std::move(settings)) {}
  void launch();
  void await(std::chrono::steady_clock::time_point deadline) const;

  ServerSettings settings_;
  pid_t pid_ = -1;
  pid_t starter_ = -1;  ///< the process that started it and owns it
};

}  // namespace quorumlock::local
