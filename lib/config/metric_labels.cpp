#include "config/metric_labels.hpp"

#include <set>
#include <string>
#include <string_view>

#include "config/quoted.hpp"
#include "config/refusal.hpp"

namespace quorumlock::detail {

std::optional<Error> fault_of(const MetricLabels& labels) {
  std::set<std::string> used = {"cause", "class", "group", "kind", "le", "node", "reason", "vote"};
  for (const auto& [name, value] : labels) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (name.empty() || name.find_first_not_of(letters) != name.npos || name.starts_with("__") ||
        (name[0] >= '0' && name[0] <= '9')) {
      return refusal("the label " + detail::quoted(name) +
                     " has no valid name: use letters, digits and '_', and begin with a "
                     "letter or one '_'");
    }
    if (!used.insert(name).second) {
      return refusal("the label " + detail::quoted(name) +
                     " is given twice, or is a label of the metrics themselves: choose "
                     "another name");
    }
  }
  return std::nullopt;
}

}  // namespace quorumlock::detail
