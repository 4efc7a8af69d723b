#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "sim/server.hpp"
#include "uv/descriptor.hpp"

namespace quorumlock::testing {

/// One node: a simulated server that listens on a unix socket. Not thread-safe.
class NodeServer {
 public:
  /// Listens on `path`.
  NodeServer(std::string path, std::uint64_t seed);
  ~NodeServer();
  NodeServer(const NodeServer&) = delete;
  NodeServer& operator=(const NodeServer&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Adds what to wait for until pump() has something to do.
  void add_waits(std::vector<pollfd>& waits) const;
  /// Accepts, reads, executes and answers all that has arrived, without waiting. Returns true if
  /// anything has.
  bool pump();

  void stop();
  void start();
  void forget();
  void partition(bool on) { partitioned_ = on; }
  void step_clock(std::chrono::nanoseconds by) { server_.clock.step(by); }
  [[nodiscard]] std::optional<std::string> value(const std::string& key) const;

  /// Puts a rival's token in the place of this one, wherever it holds a lock or a permit.
  void take_over(const std::string& token);
  /// Gives back what the rival has taken: to the other readers of the same lock, if there are any.
  void give_back();

 private:
  struct Connection {
    uv::Descriptor socket;
    std::string unsent;
  };

  /// A lock that the rival has taken, and its value before.
  struct Taken {
    int database;
    std::string key;
    sim::Value before;
  };

  void listen();
  bool accept();
  bool read(int number, Connection& connection);
  void execute(int number, Connection& connection);
  static bool write(Connection& connection);

  const std::string path_;
  sim::Server server_;
  uv::Descriptor listener_;
  std::map<int, Connection> connections_;  ///< indexed by the server's number
  std::vector<Taken> taken_;
  bool partitioned_ = false;
};

}  // namespace quorumlock::testing
