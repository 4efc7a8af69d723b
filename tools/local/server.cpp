#include "local/server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "local/descriptor.hpp"
#include "local/keeper.hpp"

namespace quorumlock::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

fs::path log_of(const ServerSettings& settings) {
  return settings.dir / "redis.log";
}
fs::path socket_of(const ServerSettings& settings) {
  return settings.dir / "redis.sock";
}

std::string name_of(const ServerSettings& settings) {
  return "the redis-server in " + settings.dir.string() +
         (settings.port > 0 ? " on port " + std::to_string(settings.port) : "");
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Whether the socket could be bound, with SO_REUSEADDR as servers use it.
bool bound(const Descriptor& socket, int port) {
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool connected(const Descriptor& socket, const ServerSettings& settings) {
  if (settings.port > 0) {
    const sockaddr_in address = loopback(settings.port);
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
           0;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_of(settings).native().copy(address.sun_path, sizeof address.sun_path - 1);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// Returns the server's answer up to `end` and maybe beyond; less if the server stops before.
std::string ask(const ServerSettings& settings, std::string_view question, std::string_view end,
                milliseconds patience) {
  const int family = settings.port > 0 ? AF_INET : AF_UNIX;
  const Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connected(socket, settings)) return "";
  if (::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return "";
  std::string said;
  while (said.find(end) == said.npos) {
    pollfd readable{socket.get(), POLLIN, 0};
    char more[4096];
    const int ready = ::poll(&readable, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno != EINTR) {
      fail_with_errno("cannot wait for a node, because the system call poll() failed");
    }
    if (ready != 1) break;
    const ssize_t size = ::recv(socket.get(), more, sizeof more, 0);
    if (size <= 0) break;
    said.append(more, static_cast<std::size_t>(size));
  }
  return said;
}

/// Whether another server has the port that this process was to use. A server that first requires a
/// password is taken for ours.
bool is_another(const ServerSettings& settings, pid_t process) {
  if (ask(settings, "PING\r\n", "\r\n", milliseconds(1000)).starts_with("-NOAUTH")) return false;
  const std::string said =
      ask(settings, "INFO server\r\n", "uptime_in_seconds", milliseconds(1000));
  return said.find("process_id:") != said.npos &&
         said.find("process_id:" + std::to_string(process) + "\r\n") == said.npos;
}

/// Returns the last lines of the server's log, for an error message.
std::string log_tail(const ServerSettings& settings) {
  std::ifstream file(log_of(settings), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::size_t begin = text.size();
  for (int lines = 0; begin > 0 && lines < 6; ++lines) {
    const std::size_t end = text.rfind('\n', begin - 1);
    begin = end == text.npos ? 0 : end;
  }
  text.erase(0, begin);
  if (text.find_first_not_of(" \n") == text.npos) return "; it has written no log";
  return "; its log ends with:" + (text.starts_with('\n') ? text : "\n" + text);
}

[[noreturn]] void fail(const ServerSettings& settings, const std::string& what) {
  throw std::runtime_error(name_of(settings) + " " + what + log_tail(settings));
}

/// Runs in the child that launch() forked. Only system calls are safe: the program may have other
/// threads.
[[noreturn]] void become_server(char* const* words, char* const* variables, int log,
                                const Keeper* keeper) noexcept {
  if (keeper != nullptr) keeper->keep_me();
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  struct sigaction normal {};
  normal.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &normal, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(words[0], words, variables);
  // Debian's redis-tools has the same program without the service, under this name: it is a server
  // if its first word is redis-server.
  ::execvpe("redis-check-rdb", words, variables);
  constexpr std::string_view sentence =
      "redis-server cannot be run: is it installed and on the PATH?\n";
  (void)!::write(STDERR_FILENO, sentence.data(), sentence.size());
  ::_exit(127);
}

}  // namespace

int free_port() {
  // The ports are below those that the kernel gives to connections, since one of these could get
  // the port while its server is being started anew. Each process begins in a place of its own, so
  // that two of them hardly ever choose the same port before either has bound it.
  constexpr int first = 12'000, count = 20'000, stretch = 50;
  static std::atomic<int> tried{0};
  const int begin = ::getpid() * stretch % count;
  for (int i = 0; i < count; ++i) {
    const int port = first + (begin + tried++) % count;
    if (!port_in_use(port)) return port;
  }
  throw std::runtime_error("no port from 12000 to 31999 of 127.0.0.1 is free; end what uses them");
}

bool port_in_use(int port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return !bound(socket, port) && errno == EADDRINUSE;
}

std::vector<std::string> arguments_of(const ServerSettings& settings) {
  const std::string dir = settings.dir.string();
  std::vector<std::string> words = {"--port",
                                    std::to_string(settings.port),
                                    "--bind",
                                    "127.0.0.1",
                                    "--protected-mode",
                                    "no",
                                    "--daemonize",
                                    "no",
                                    "--dir",
                                    dir,
                                    "--logfile",
                                    log_of(settings).string(),
                                    "--pidfile",
                                    (settings.dir / "redis.pid").string(),
                                    "--save",
                                    "",
                                    "--appendonly",
                                    settings.durable ? "yes" : "no",
                                    "--appendfsync",
                                    "always"};
  if (settings.port == 0) {
    words.insert(words.end(), {"--unixsocket", socket_of(settings).string()});
  }
  if (settings.tls) {
    const ServerTls& tls = *settings.tls;
    words.insert(words.end(), {"--tls-port", std::to_string(tls.port), "--tls-cert-file",
                               tls.cert_file.string(), "--tls-key-file", tls.key_file.string(),
                               "--tls-ca-cert-file", tls.ca_file.string(), "--tls-auth-clients",
                               tls.wants_certificates ? "yes" : "no"});
  }
  words.insert(words.end(), settings.more.begin(), settings.more.end());
  return words;
}

bool answers(const ServerSettings& settings, milliseconds patience) {
  const std::string said = ask(settings, "PING\r\n", "\r\n", patience);
  return said.starts_with("+PONG") || said.starts_with("-NOAUTH");
}

Server Server::start(ServerSettings settings, milliseconds patience) {
  std::vector<ServerSettings> one;
  one.push_back(std::move(settings));
  return std::move(start_all(std::move(one), patience).front());
}

std::vector<Server> Server::start_all(std::vector<ServerSettings> settings, milliseconds patience) {
  std::vector<Server> servers;
  servers.reserve(settings.size());
  for (ServerSettings& each : settings) {
    each.dir = fs::absolute(each.dir).lexically_normal();
    servers.push_back(Server(std::move(each)));
    servers.back().launch();
  }
  const auto deadline = steady_clock::now() + patience;
  for (const Server& server : servers) server.await(deadline);
  return servers;
}

void Server::launch() {
  if (settings_.port == 0 &&
      socket_of(settings_).native().size() >= sizeof(sockaddr_un::sun_path)) {
    throw std::runtime_error("the path " + socket_of(settings_).string() +
                             " is too long for a unix socket: choose a shorter directory");
  }
  fs::create_directories(settings_.dir);
  const Descriptor log(
      ::open(log_of(settings_).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.open()) fail_with_errno("cannot write " + log_of(settings_).string());
  std::vector<std::string> texts = arguments_of(settings_);
  texts.insert(texts.begin(), "redis-server");
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  std::vector<char*> variables;
  for (std::string& variable : settings_.environment) variables.push_back(variable.data());
  for (char** own = environ; *own != nullptr; ++own) variables.push_back(*own);
  variables.push_back(nullptr);
  const Keeper* const keeper = settings_.outlive ? nullptr : &Keeper::instance();

  // No signal handler of this program may run in the child.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_ = ::fork();
  if (pid_ == 0) become_server(words.data(), variables.data(), log.get(), keeper);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid_ < 0) throw std::system_error(error, std::generic_category(), "cannot fork");
  starter_ = ::getpid();
}

void Server::await(steady_clock::time_point deadline) const {
  const auto has_ended = [this] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  };
  // An attempt may take longer than the pause: a server that loads its data accepts and is silent.
  while (!answers(settings_, milliseconds(100))) {
    if (has_ended()) fail(settings_, "ended before it answered");
    std::this_thread::sleep_for(milliseconds(5));
    if (steady_clock::now() > deadline) fail(settings_, "does not answer");
  }
  if (is_another(settings_, pid_)) fail(settings_, "cannot be: another server has its port");
}

Server::Server(Server&& other) noexcept
    : settings_(std::move(other.settings_)),
      pid_(std::exchange(other.pid_, -1)),
      starter_(other.starter_) {}

Server& Server::operator=(Server&& other) noexcept {
  if (this != &other) {
    kill();
    settings_ = std::move(other.settings_);
    pid_ = std::exchange(other.pid_, -1);
    starter_ = other.starter_;
  }
  return *this;
}

Server::~Server() {
  kill();
}

std::string Server::url() const {
  if (settings_.tls) return "rediss://127.0.0.1:" + std::to_string(settings_.tls->port);
  return plain_url();
}

std::string Server::plain_url() const {
  if (settings_.port > 0) return "redis://127.0.0.1:" + std::to_string(settings_.port);
  return "unix://" + socket_of(settings_).string();
}

void Server::kill() {
  const pid_t pid = std::exchange(pid_, -1);
  if (pid <= 0 || starter_ != ::getpid()) return;
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!settings_.outlive) Keeper::instance().let_go(pid);
}

void Server::restart() {
  kill();
  launch();
  await(steady_clock::now() + std::chrono::seconds(30));
}

void Server::pause() {
  ::kill(pid_, SIGSTOP);
  siginfo_t how{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &how, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

void Server::resume() {
  ::kill(pid_, SIGCONT);
}

void Server::detach() {
  if (pid_ > 0 && !settings_.outlive) Keeper::instance().let_go(pid_);
  pid_ = -1;
}

}  // namespace quorumlock::local
