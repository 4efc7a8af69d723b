#include "sim/world/scene.hpp"

namespace quorumlock::sim {

Scene::Scene(const Draw& its_draw, std::ostream* trace)
    : draw(its_draw),
      lock(draw.lock()),
      random(draw.seed),
      history(agenda, trace),
      checks(draw, operations, history) {}

}  // namespace quorumlock::sim
