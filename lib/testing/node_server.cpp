#include "testing/node_server.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <quorumlock/clock.hpp>

#include "sim/resp.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::testing {
namespace {

constexpr std::string_view rival = "0000000000000000000000000000000000000000@quorumlock-testing";

/// The server's time, which is that of the clock that the coordinators use.
sim::TrueTime now() {
  return Clock::now().time_since_epoch();
}

sim::WallClock wall_clock() {
  return sim::WallClock(std::chrono::system_clock::now().time_since_epoch() - now());
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

NodeServer::NodeServer(std::string path, std::uint64_t seed)
    : path_(std::move(path)), server_({.seed = seed, .durable = true}, wall_clock(), now()) {
  listen();
}

NodeServer::~NodeServer() {
  ::unlink(path_.c_str());
}

void NodeServer::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    throw std::invalid_argument(
        "the path of a node's socket is too long, set TMPDIR to a shorter one: " + path_);
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  ::unlink(path_.c_str());
  listener_ = uv::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener_) fail("cannot make a socket for a node of the test kit");
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0) {
    fail("cannot listen for a node of the test kit");
  }
}

void NodeServer::add_waits(std::vector<pollfd>& waits) const {
  if (partitioned_) return;
  if (listener_) waits.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [number, connection] : connections_) {
    const int out = connection.unsent.empty() ? 0 : POLLOUT;
    waits.push_back({connection.socket.get(), static_cast<short>(POLLIN | out), 0});
  }
}

bool NodeServer::pump() {
  if (partitioned_) return false;
  bool any = accept();
  for (auto& [number, connection] : connections_) any = read(number, connection) || any;
  for (auto& [number, connection] : connections_) execute(number, connection);
  for (auto each = connections_.begin(); each != connections_.end();) {
    auto& [number, connection] = *each;
    connection.unsent += server_.connections.take_output(number);
    const bool open = write(connection) && server_.connections.is_open(number);
    if (!open) server_.connections.drop(number);
    each = open ? std::next(each) : connections_.erase(each);
  }
  return any;
}

bool NodeServer::accept() {
  bool any = false;
  while (listener_) {
    uv::Descriptor socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) break;
    connections_[server_.connections.open()].socket = std::move(socket);
    any = true;
  }
  return any;
}

bool NodeServer::read(int number, Connection& connection) {
  bool any = false;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t count = ::read(connection.socket.get(), bytes.data(), bytes.size());
    if (count < 0) return any;
    any = true;
    if (count == 0) {
      server_.connections.hang_up(number);
      return any;
    }
    try {
      server_.connections.feed(number, {bytes.data(), static_cast<std::size_t>(count)});
    } catch (const std::runtime_error&) {  // not a command: a real server hangs up, too
      server_.connections.drop(number);
      return any;
    }
  }
}

void NodeServer::execute(int number, Connection& connection) {
  while (server_.connections.next(number) != nullptr) {
    try {
      if (!server_.execute_next(number, now())) return;
    } catch (const std::logic_error& unknown) {
      connection.unsent += server_.connections.take_output(number);
      connection.unsent += sim::resp::error(std::string("ERR ") + unknown.what());
    }
  }
}

/// Returns false if the connection is broken.
bool NodeServer::write(Connection& connection) {
  while (!connection.unsent.empty()) {
    const ssize_t count = ::send(connection.socket.get(), connection.unsent.data(),
                                 connection.unsent.size(), MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.unsent.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

void NodeServer::stop() {
  if (!listener_) return;
  listener_.reset();
  ::unlink(path_.c_str());
  connections_.clear();
  server_.crash();
}

void NodeServer::start() {
  if (listener_) return;
  server_.restart(now());
  listen();
}

void NodeServer::forget() {
  stop();
  server_.data.clear();
  start();
}

std::optional<std::string> NodeServer::value(const std::string& key) const {
  return server_.at(now()).token_of(key);
}

void NodeServer::take_over(const std::string& token) {
  const std::int64_t now_ms = server_.wall_us(now()) / 1000;
  for (auto& [number, database] : server_.data) {
    const auto take = [&, at = number, &keys = database](const std::string& key) {
      const sim::Value* const held = keys.find(key, now_ms);
      if (held == nullptr) return;
      taken_.push_back({at, key, *held});
      keys.put(key, {std::string(rival), held->expires});
    };
    for (const auto& [key, value] : database.at(now_ms)) {
      if (key.starts_with(redis::readers_prefix)) {
        sim::Value rest = value;
        auto* const readers = std::get_if<sim::Value::SortedSet>(&rest.data);
        if (readers == nullptr || readers->erase(token) == 0) continue;
        database.put(key, std::move(rest));
        take(key.substr(redis::readers_prefix.size()));
      } else if (value.text() != nullptr && *value.text() == token) {
        if (redis::is_held_key(key)) take(key);
      }
    }
  }
}

void NodeServer::give_back() {
  const std::int64_t now_ms = server_.wall_us(now()) / 1000;
  for (Taken& taken : std::exchange(taken_, {})) {
    sim::Database& database = server_.data[taken.database];
    const sim::Value* const set =
        database.find(std::string(redis::readers_prefix) + taken.key, now_ms);
    const auto* const readers = set == nullptr ? nullptr : set->sorted_set();
    const bool is_read = *taken.before.text() == redis::read_mark;
    if (is_read && readers != nullptr && !readers->empty()) {
      database.put(taken.key, std::move(taken.before));
    } else {
      database.drop(taken.key);
    }
  }
}

}  // namespace quorumlock::testing
