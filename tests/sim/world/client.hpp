#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "client/session.hpp"
#include "sim/wall_clock.hpp"
#include "sim/world/draw.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

/// One process that uses the library, with the library's own session inside: its clocks, its
/// connections, and whether it runs at all.
struct Client final : core::WallClock {
  /// A connection as this client sees it.
  struct Wire {
    int connection = -1;      ///< the server's number for it; -1: none
    std::uint64_t epoch = 0;  ///< counts Connect and Disconnect: what is of an older one is void
    bool open = false;
    TrueTime last_to{}, last_from{};  ///< when what was sent last arrives: in order
  };

  Client(const Draw& draw, std::size_t number, test::SeededRandom& world);

  /// Its suspend-proof clock at this true time, and back: the first moment at which it shows that.
  [[nodiscard]] core::Time local(TrueTime now) const;
  [[nodiscard]] TrueTime when(core::Time local) const;
  std::int64_t now_us() override { return wall_us; }
  /// A new process in its place.
  void begin_life(const Draw& draw);

  std::size_t number;
  test::SeededRandom random;
  double rate;
  core::Duration offset;
  core::Duration wall_offset;  ///< of the wall clock, from true time
  bool wall_stands;
  std::int64_t wall_us = 0;  ///< set before each turn
  std::unique_ptr<client::Session> session;
  std::vector<Wire> wires;  ///< by the session's number
  std::size_t life = 0;
  bool paused = false;
  core::Time awake{};                         ///< since when it has not been stopped
  std::vector<std::function<void()>> missed;  ///< what came in while it was stopped
  TrueTime waking = TrueTime::max();          ///< for when its next turn is planned
};

}  // namespace quorumlock::sim
