#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/event.hpp>

#include "lock/types.hpp"
#include "wire/link.hpp"
#include "wire/subscriber.hpp"

namespace quorumlock::detail {

/// A wire's number: that of the node for its link, and a greater one for its subscriber.
constexpr int subscriber_of(int node) {
  return node + core::max_nodes;
}
constexpr bool is_link(int wire) {
  return wire < core::max_nodes;
}
constexpr int node_of(int wire) {
  return wire % core::max_nodes;
}

/// Open this wire's socket, or close it.
struct OpenWire {
  int wire;
};
struct CloseWire {
  int wire;
};
/// Something that an operator should know and that no other output says.
struct News {
  EventKind kind;
  std::string reason;
  int node = -1;  ///< the node that it is about; -1: none
};
/// The engine's view of a link has changed (see redis::Link::Changed), a node has begun or ended to
/// refuse writes (see redis::Link::Writes), or it is still down for a reason that is worth saying
/// (see redis::Link::StillDown).
struct NodeChanged {
  int node;
  core::LinkState state;
  Vote reason;  ///< see redis::Link::reason()
};

/// The nodes of a list, each with a number, a link and a subscriber; and which of these may have
/// events.
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
  [[nodiscard]] redis::Wire& wire(int number) const {
    if (is_link(number)) return link(number);
    return subscriber(node_of(number));
  }
  /// Notes that this wire may have events.
  void touched(int wire) { (is_link(wire) ? touched_ : touched_subscribers_).add(node_of(wire)); }
  /// The nodes whose link may have events, or whose subscriber may.
  [[nodiscard]] core::NodeSet& touched_links() { return touched_; }
  [[nodiscard]] core::NodeSet& touched_subscribers() { return touched_subscribers_; }
  /// The number of the node with this connection; -1: it is not in the list.
  [[nodiscard]] int number_of(const redis::Link::Config& config) const;

  struct Change {
    std::vector<int> come, gone;
    std::vector<int> reused;  ///< those of `come` whose number was another node's
  };
  /// Replaces the list. Does nothing, and returns an unset value, if too few numbers are free.
  std::optional<Change> replace(const std::vector<redis::Link::Config>& list);

 private:
  void make(const redis::Link::Config& config, int node);
  [[nodiscard]] core::NodeSet free_numbers() const;

  core::Random& random_;
  std::vector<int> nodes_;
  std::vector<std::unique_ptr<redis::Link>> links_;  ///< indexed by node, like the next member
  std::vector<std::unique_ptr<redis::Subscriber>> subscribers_;
  core::NodeSet touched_, touched_subscribers_;
};

}  // namespace quorumlock::detail
