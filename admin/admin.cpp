#include <quorumlock/admin.hpp>

#include <algorithm>
#include <utility>

#include <quorumlock/detail/node_questions.hpp>

#include "verbs/keys.hpp"

namespace quorumlock {

Result<Coordinator> create_enrolling(Options options) {
  options.loops = 1;
  return detail::create_to_enrol(std::move(options));
}

Result<void> vouch_for_nodes(const Coordinator& coordinator) {
  return detail::vouch(coordinator);
}

Result<void> forget_counters(const Coordinator& coordinator,
                             const std::vector<std::string>& resources) {
  constexpr const char* call = "delete the fencing counters";
  constexpr std::size_t at_once = 500;  // which keeps a server busy for a fraction of a millisecond
  const auto groups = detail::listed_groups(coordinator, call, false);
  if (!groups) return groups.error();
  std::string why;
  Errc code = Errc::no_quorum;
  for (std::size_t group = 0; group < groups->size(); ++group) {
    std::vector<detail::ListedNode> nodes = (*groups)[group].nodes;
    for (std::size_t first = 0; first < resources.size() && !nodes.empty(); first += at_once) {
      std::vector<std::string> words{"DEL"};
      const std::size_t end = std::min(first + at_once, resources.size());
      for (std::size_t i = first; i < end; ++i) {
        words.push_back(std::string(redis::counter_prefix) + (*groups)[group].key_prefix +
                        resources[i]);
      }
      std::vector<detail::NodeQuestion> questions;
      for (const detail::ListedNode& node : nodes) questions.push_back({node.number, words});
      const auto answers = detail::ask_nodes(coordinator, call, group, std::move(questions));
      if (!answers) return answers.error();
      std::vector<detail::ListedNode> good;  // a node that did not answer is asked no more
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const detail::NodeAnswer& answer = (*answers)[i];
        if (answer.good()) {
          good.push_back(std::move(nodes[i]));
          continue;
        }
        why += "; " + nodes[i].node + ": " + answer.trouble;
        if (answer.reply) code = Errc::misconfigured;
      }
      nodes = std::move(good);
    }
  }
  if (why.empty()) return {};
  return Error(code, "the fencing counters were not deleted on every node" + why);
}

}  // namespace quorumlock
