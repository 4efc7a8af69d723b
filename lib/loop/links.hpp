#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/types.hpp"
#include "redis/link.hpp"
#include "redis/subscriber.hpp"

namespace quorumlock::detail {

/// The nodes of a list, each with a number, a link and a subscriber.
///
/// The list can be replaced: a node that stays keeps its number and both connections, and a new one
/// gets the least number that is free. The number of a node that left is free again as soon as its
/// wires have no event left, so that no late answer is taken for its successor's.
class Links {
 public:
  Links(std::vector<redis::Link::Config> list, core::Random& random);

  /// The numbers of the nodes, in the order of the list.
  [[nodiscard]] const std::vector<int>& nodes() const { return nodes_; }
  [[nodiscard]] redis::Link& link(int node) const {
    return *links_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] redis::Subscriber& subscriber(int node) const {
    return *subscribers_[static_cast<std::size_t>(node)];
  }
  /// The number of the node with this connection; -1: it is not in the list.
  [[nodiscard]] int number_of(const redis::Link::Config& config) const;

  struct Change {
    std::vector<int> come, gone;
    std::vector<int> reused;  ///< those that come with the number of another node
  };
  /// Replaces the list. Unset, and nothing is done, if too few numbers are free.
  std::optional<Change> replace(const std::vector<redis::Link::Config>& list);

 private:
  void make(const redis::Link::Config& config, int node);
  [[nodiscard]] core::NodeSet free_numbers() const;

  core::Random& random_;
  std::vector<int> nodes_;
  std::vector<std::unique_ptr<redis::Link>> links_;  ///< by number, as the next
  std::vector<std::unique_ptr<redis::Subscriber>> subscribers_;
};

}  // namespace quorumlock::detail
