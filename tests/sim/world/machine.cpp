#include "sim/world/machine.hpp"

#include "sim/world/world.hpp"

namespace quorumlock::sim {

Machine::Machine(World& world)
    : world_(world),
      scene_(world.scene),
      draw_(scene_.draw),
      random_(scene_.random),
      nodes_(scene_.nodes),
      clients_(scene_.clients),
      operations_(scene_.operations),
      checks_(scene_.checks),
      figures_(scene_.figures) {}

TrueTime Machine::draw_span(TrueTime about) {
  const auto span = about * random_.between(1, 200) / 100;
  return random_.one_in(10) ? span / 20 : random_.one_in(10) ? span * 4 : span;
}

}  // namespace quorumlock::sim
