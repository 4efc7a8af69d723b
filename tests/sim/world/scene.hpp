#pragma once

#include <deque>
#include <iosfwd>
#include <string>

#include "sim/server.hpp"
#include "sim/world/agenda.hpp"
#include "sim/world/checks.hpp"
#include "sim/world/client.hpp"
#include "sim/world/draw.hpp"
#include "sim/world/figures.hpp"
#include "sim/world/history.hpp"
#include "sim/world/operation.hpp"
#include "support/seeded_random.hpp"

namespace quorumlock::sim {

/// The data that all machines of a world act on: the draw and its randomness, the time, the
/// servers, the clients and their operations, and the record of what happens.
struct Scene {
  /// `trace` may be null. The scene begins without servers and clients.
  Scene(const Draw& draw, std::ostream* trace);

  const Draw draw;
  const std::string lock;  ///< the key of most requests; the semaphore's if the draw has permits
  test::SeededRandom random;
  Agenda agenda;
  History history;
  std::deque<Server> nodes;
  std::deque<Client> clients;
  std::deque<Operation> operations;
  Checks checks;
  Figures figures;
  bool healing = false;  ///< nothing goes wrong from now on
};

}  // namespace quorumlock::sim
