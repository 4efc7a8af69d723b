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

#include "chaos/descriptor.hpp"
#include "chaos/pipe.hpp"
#include "chaos/weather.hpp"

namespace quorumlock::chaos {

/// Between all workers and all nodes: listens on a port of 127.0.0.1 for each node and passes bytes
/// to the node's unix socket and back as the weather there allows. One thread.
class Proxy {
 public:
  /// One unix socket for each node.
  explicit Proxy(std::vector<std::filesystem::path> nodes, std::uint64_t seed = 1);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  /// Where the workers find this node: redis://127.0.0.1:PORT.
  [[nodiscard]] std::string url(std::size_t node) const;
  [[nodiscard]] std::vector<std::string> urls() const;

  /// From now on; what is on its way keeps the delay that it was given. Connections of which bytes
  /// were lost are reset when nothing is lost any more.
  void set(std::size_t node, const Weather& weather);
  /// Resets all connections to this node.
  void reset(std::size_t node);
  /// Connections to this node that are passed on now.
  [[nodiscard]] std::size_t connections(std::size_t node) const;

 private:
  struct Connection {
    Descriptor client;
    Descriptor node;
    Pipe to_node;
    Pipe from_node;
    bool client_speaks = true;  ///< there may be something to read
    bool node_speaks = true;
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
  [[nodiscard]] int patience(SteadyTime now) const;
  void turn(SteadyTime now);
  void accept(Place& place);
  /// False where the connection is over.
  bool serve(Connection& connection, const Weather& weather, SteadyTime now);

  mutable std::mutex mutex_;  ///< guards the places
  std::vector<Place> places_;
  std::mt19937_64 random_;
  Descriptor wake_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace quorumlock::chaos
