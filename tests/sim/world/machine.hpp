#pragma once

#include <string>
#include <utility>

#include "sim/world/scene.hpp"

namespace quorumlock::sim {

struct World;

/// The base of a machine of the world. It adds to the machine's own data short names for the parts
/// of the scene, and the way to the other machines.
class Machine {
 public:
  explicit Machine(World& world);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

 protected:
  using Action = Agenda::Action;

  [[nodiscard]] TrueTime now() const { return scene_.agenda.now(); }
  void at(TrueTime when, Action&& action) { scene_.agenda.at(when, std::move(action)); }
  void after(TrueTime span, Action&& action) { scene_.agenda.after(span, std::move(action)); }
  void run_until(TrueTime end) { scene_.agenda.run_until(end); }
  [[nodiscard]] bool goes_on() const { return !scene_.agenda.stopped(); }
  template <class... Words>
  void trace(const Words&... words) {
    scene_.history.write(words...);
  }
  void report(const std::string& sentence) { scene_.history.report(sentence); }
  [[nodiscard]] const std::string& violation() const { return scene_.history.violation(); }
  [[nodiscard]] Server& node_at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  /// Draws a span that is mostly about that long, and now and then much shorter or longer.
  TrueTime draw_span(TrueTime about);

  World& world_;
  Scene& scene_;
  const Draw& draw_;
  test::SeededRandom& random_;
  std::deque<Server>& nodes_;
  std::deque<Client>& clients_;
  std::deque<Operation>& operations_;
  Checks& checks_;
  Figures& figures_;
};

}  // namespace quorumlock::sim
