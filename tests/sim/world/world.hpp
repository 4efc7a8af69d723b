#pragma once

#include <iosfwd>
#include <string>

#include "sim/world/disks.hpp"
#include "sim/world/faults.hpp"
#include "sim/world/foundings.hpp"
#include "sim/world/lists.hpp"
#include "sim/world/network.hpp"
#include "sim/world/observer.hpp"
#include "sim/world/operators.hpp"
#include "sim/world/paths.hpp"
#include "sim/world/processes.hpp"
#include "sim/world/results.hpp"
#include "sim/world/scene.hpp"
#include "sim/world/short_lives.hpp"
#include "sim/world/stale_source.hpp"
#include "sim/world/tokens.hpp"
#include "sim/world/traps.hpp"
#include "sim/world/users.hpp"

namespace quorumlock::sim {

/// Clients, nodes, the network between them and all that may happen to them, drawn from one seed:
/// the same seed gives the same history, event for event. The world has the scene and the machines,
/// which reach each other through it, and decides only in which order they begin.
struct World {
  /// `trace` may be null.
  World(const Draw& draw, std::ostream* trace);

  /// Runs the history and returns the first violation; empty if there was none.
  std::string run();

  Scene scene;
  Paths paths{*this};
  Network network{*this};
  Processes processes{*this};
  Observer observer{*this};
  Users users{*this};
  Results results{*this};
  Tokens tokens{*this};
  Faults faults{*this};
  Disks disks{*this};
  Lists lists{*this};
  Operators operators{*this};
  Foundings foundings{*this};
  Traps traps{*this};
  StaleSource stale_source{*this};
  ShortLives short_lives{*this};

 private:
  void begin_nodes();
  void begin_clients();
  void demand_promises();
};

}  // namespace quorumlock::sim
