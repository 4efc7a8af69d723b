#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "local/descriptor.hpp"
#include "support/pipe.hpp"
#include "support/weather.hpp"

namespace quorumlock::test {

/// Stands between all workers and all nodes: listens on a port of 127.0.0.1 for each node and
/// passes bytes to the node and back as the weather there allows. One thread.
class Proxy {
 public:
  /// `nodes`: for each node its unix socket, or a port of 127.0.0.1 as a number.
  explicit Proxy(std::vector<std::filesystem::path> nodes, std::uint64_t seed = 1);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  /// The address of this node for workers: redis://127.0.0.1:PORT.
  [[nodiscard]] std::string url(std::size_t node) const;
  [[nodiscard]] std::vector<std::string> urls() const;

  /// Sets the weather from now on; what is on its way keeps its delay. Connections that have lost
  /// bytes are reset once nothing is lost any more.
  void set(std::size_t node, const Weather& weather);
  /// Resets all connections to this node.
  void reset(std::size_t node);
  /// From now on this node is another one, as in the constructor; all connections are reset.
  void lead_to(std::size_t node, std::filesystem::path path);
  /// Makes the existing connections to this node carry nothing more, either way and silently, as if
  /// a NAT had forgotten them; later connections work.
  void forget(std::size_t node);
  /// The number of connections to this node that are passed on now.
  [[nodiscard]] std::size_t connections(std::size_t node) const;

 private:
  struct Connection {
    Descriptor client;
    Descriptor node;
    Pipe to_node;
    Pipe from_node;
    bool client_speaks = true;  ///< there may be something to read
    bool node_speaks = true;
    bool forgotten = false;
  };
  struct Place {
    std::filesystem::path path;
    Descriptor listener;
    int port = 0;
    Weather weather;
    bool reset = false;
    std::list<Connection> connections;
  };

  void run();
  void watch(std::vector<pollfd>& watched) const;
  void note(const std::vector<pollfd>& watched);
  /// Returns how long nothing is due.
  [[nodiscard]] std::chrono::nanoseconds patience(SteadyTime now) const;
  void turn(SteadyTime now);
  void accept(Place& place);
  /// Returns false if the connection is over.
  bool serve(Connection& connection, const Weather& weather, SteadyTime now);

  mutable std::mutex mutex_;  ///< guards the places
  std::vector<Place> places_;
  std::mt19937_64 random_;
  Descriptor wake_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace quorumlock::test
