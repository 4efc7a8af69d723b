#include "sim/world/scene.hpp"

#include "redis/keys.hpp"

namespace quorumlock::sim {

Scene::Scene(const Draw& its_draw, std::ostream* trace)
    : draw(its_draw),
      lock(draw.capacity == 0 ? "lock" : std::string(redis::semaphore_prefix) + "lock"),
      random(draw.seed),
      history(agenda, trace),
      checks(draw, operations, history) {}

}  // namespace quorumlock::sim
