#include "sim/world/scene.hpp"

#include "sim/world/records.hpp"

namespace quorumlock::sim {

Scene::Scene(const Draw& its_draw, std::ostream* trace)
    : draw(its_draw),
      lock(draw.lock()),
      random(draw.seed),
      history(agenda, trace),
      checks(
          draw, operations, history,
          [this](int server) {
            return nodes[static_cast<std::size_t>(server)].wall_us(agenda.now());
          },
          [this](int server) {
            return membership_of(nodes[static_cast<std::size_t>(server)], agenda.now());
          },
          [this](int server) -> const Database& {
            return nodes[static_cast<std::size_t>(server)].data[0];
          },
          [this](std::size_t operation) { return operations[operation].valid(agenda.now()); }) {}

}  // namespace quorumlock::sim
