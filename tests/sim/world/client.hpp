#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "loop/session.hpp"
#include "sim/world/client_clocks.hpp"

namespace quorumlock::sim {

/// A process that uses the library, with the library's own session, the process's clocks and its
/// connections. The process may be stopped, or crash.
struct Client {
  /// A connection as this client sees it.
  struct Wire {
    int connection = -1;  ///< the server's number for the connection; -1: none
    std::uint64_t epoch =
        0;  ///< counts Connect and Disconnect; what belongs to an older epoch is void
    bool open = false;
    TrueTime last_to{}, last_from{};  ///< arrival of the last message each way: keeps the order
    TrueTime used{};                  ///< when something was last sent, in either direction
    bool forgotten = false;           ///< something on the path forgot it: nothing arrives
  };

  Client(const Draw& draw, std::size_t number, test::SeededRandom& world);

  [[nodiscard]] core::Time local(TrueTime now) const { return clocks.local(now); }
  [[nodiscard]] TrueTime when(core::Time local) const { return clocks.when(local); }
  /// Starts a new process in place of this one.
  void begin_life(const Draw& draw);
  /// The connections to these servers, as the process is configured with them.
  static std::vector<redis::Link::Config> links_to(const std::vector<int>& servers,
                                                   const Draw& draw);
  /// Called when the session's list of nodes has changed.
  void list_changed();
  /// The server at the other end of this wire.
  [[nodiscard]] int server_of(int wire) const {
    return servers_[static_cast<std::size_t>(detail::node_of(wire))];
  }
  /// The session's number of a node; -1: it is not in its list.
  [[nodiscard]] int number_of(int server) const;

  std::size_t number;
  test::SeededRandom random;
  ClientClocks clocks;
  std::vector<int> list;    ///< the servers that its next process is configured with
  bool keeps_list = false;  ///< it is given no other list
  std::unique_ptr<detail::Session> session;
  std::vector<Wire> wires;  ///< by the session's number
  std::size_t life = 0;
  bool paused = false;
  std::optional<TrueTime> stands_since;       ///< since when it stands still, with its clock
  bool blames_itself = false;                 ///< it has just reported that its clock stood still
  core::Time awake{};                         ///< since when the process has not been stopped
  std::vector<std::function<void()>> missed;  ///< what came in while the process was stopped
  TrueTime waking = TrueTime::max();          ///< when its next turn is planned

 private:
  std::array<int, core::max_nodes> servers_{};  ///< by the session's numbers
};

}  // namespace quorumlock::sim
