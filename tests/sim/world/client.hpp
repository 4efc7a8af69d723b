#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/session.hpp"
#include "sim/world/client_clocks.hpp"

namespace quorumlock::sim {

/// A process that uses the library, with the library's own session, the process's clocks and its
/// connections. The process may be stopped, or crash.
struct Client {
  /// A connection as this client sees it.
  struct Wire {
    int connection = -1;      ///< the server's number for the connection; -1: none
    std::uint64_t epoch = 0;  ///< counts Connect and Disconnect; anything of an older epoch is void
    bool open = false;
    TrueTime last_to{}, last_from{};  ///< arrival of the last message each way: keeps the order
    TrueTime used{};                  ///< when something was last sent, in either direction
    bool forgotten = false;           ///< the path forgot the connection: nothing arrives
  };

  Client(const Draw& draw, std::size_t number, test::SeededRandom& world);

  [[nodiscard]] core::Time local(TrueTime now) const { return clocks.local(now); }
  [[nodiscard]] TrueTime when(core::Time local) const { return clocks.when(local); }
  /// Starts a new process in place of this one.
  void begin_life(const Draw& draw, TrueTime now);
  /// The configuration of a process's connections to these servers.
  [[nodiscard]] std::vector<redis::Link::Config> links_to(const std::vector<int>& servers,
                                                          const Draw& draw) const;
  /// Called when the session's list of nodes has changed.
  void list_changed(TrueTime now);
  /// The server at the other end of this wire.
  [[nodiscard]] int server_of(int wire) const {
    return servers_[static_cast<std::size_t>(detail::node_of(wire))];
  }
  /// The name, in lists of nodes, of the member at the other end of this wire.
  [[nodiscard]] std::string member_name(int wire) const;
  /// The session's number of this server; -1 if the session's list lacks the server.
  [[nodiscard]] int number_of(int server) const;

  std::size_t number;
  test::SeededRandom random;
  ClientClocks clocks;
  std::vector<int> list;    ///< the servers in the next process's configuration
  bool keeps_list = false;  ///< the client is given no other list
  bool follows = false;     ///< it names no terms, whatever the draw says
  bool elsewhere = false;   ///< the client selects another database of the first server
  std::unique_ptr<detail::Session> session;
  std::vector<Wire> wires;  ///< by the session's number
  std::size_t life = 0;
  bool paused = false;
  std::optional<TrueTime> stands_since;       ///< when the machine and its clock came to a stop
  bool blames_itself = false;                 ///< the session just reported a standstill
  core::Time awake{};                         ///< when the process began or last went on
  std::vector<std::function<void()>> missed;  ///< actions held back while the process is stopped
  /// Its lists of nodes by name, in order, each with when the client came to have it.
  std::vector<std::pair<TrueTime, redis::NodeNames>> lists;
  TrueTime waking = TrueTime::max();  ///< when its next turn is planned

 private:
  [[nodiscard]] redis::NamedTerms named_terms(const Draw& draw) const;

  std::array<int, core::max_nodes> servers_{};  ///< by the session's numbers
};

}  // namespace quorumlock::sim
