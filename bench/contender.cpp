#include "contender.hpp"

#include <stdexcept>

#include "attached.hpp"
#include "floor.hpp"
#include "hiredis_async.hpp"

namespace quorumlock::bench {

const std::vector<std::string>& contender_names() {
  static const std::vector<std::string> names{"floor", "hiredis_async", "quorumlock",
                                              "quorumlock_fenced"};
  return names;
}

std::unique_ptr<Contender> make_contender(std::string_view name, const Nodes& nodes) {
  if (name == "floor") return make_floor(nodes);
  if (name == "hiredis_async") return make_hiredis_async(nodes);
  if (name == "quorumlock") return make_attached(nodes, false);
  if (name == "quorumlock_fenced") return make_attached(nodes, true);
  throw std::runtime_error("no contender is called \"" + std::string(name) + "\"");
}

}  // namespace quorumlock::bench
