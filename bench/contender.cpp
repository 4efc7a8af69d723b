#include "contender.hpp"

#include <stdexcept>

#include "attached.hpp"
#include "floor.hpp"

namespace quorumlock::bench {

const std::vector<std::string>& contender_names() {
  static const std::vector<std::string> names{"floor",
                                              "quorumlock",
                                              "quorumlock_fenced",
                                              "quorumlock_ordered",
                                              "quorumlock_shared",
                                              "quorumlock_pair",
                                              "quorumlock_permit",
                                              "quorumlock_watched"};
  return names;
}

const std::vector<std::string>& usual_contenders() {
  static const std::vector<std::string> names(contender_names().begin(),
                                              contender_names().begin() + 3);
  return names;
}

std::unique_ptr<Contender> make_contender(std::string_view name, const Nodes& nodes) {
  if (name == "floor") return make_floor(nodes);
  if (name == "quorumlock") return make_attached(nodes, Kind::plain, name);
  if (name == "quorumlock_watched") return make_attached(nodes, Kind::watched, name);
  if (name == "quorumlock_fenced") return make_attached(nodes, Kind::fenced, name);
  if (name == "quorumlock_ordered") return make_attached(nodes, Kind::ordered, name);
  if (name == "quorumlock_shared") return make_attached(nodes, Kind::shared, name);
  if (name == "quorumlock_pair") return make_attached(nodes, Kind::pair, name);
  if (name == "quorumlock_permit") return make_attached(nodes, Kind::permit, name);
  throw std::runtime_error("no contender is called \"" + std::string(name) + "\"");
}

}  // namespace quorumlock::bench
