#include "loop/links.hpp"

#include <algorithm>
#include <utility>

namespace quorumlock::detail {

using redis::Link;
using redis::Subscriber;

Links::Links(std::vector<Link::Config> list, core::Random& random) : random_(random) {
  for (const Link::Config& config : list) {
    nodes_.push_back(static_cast<int>(links_.size()));
    make(config, nodes_.back());
  }
}

void Links::make(const Link::Config& config, int node) {
  const auto at = static_cast<std::size_t>(node);
  if (at >= links_.size()) {
    links_.resize(at + 1);
    subscribers_.resize(at + 1);
  }
  subscribers_[at] = std::make_unique<Subscriber>(
      Subscriber::Config{config.endpoint, config.connect_timeout, config.node_timeout}, random_);
  links_[at] = std::make_unique<Link>(config, random_);
}

int Links::number_of(const Link::Config& config) const {
  const auto found = std::ranges::find_if(nodes_, [&](int node) {
    return link(node).endpoint() == config.endpoint &&
           link(node).enrolment().config().node == config.enrolment.node;
  });
  return found == nodes_.end() ? -1 : *found;
}

core::NodeSet Links::free_numbers() const {
  core::NodeSet numbers;
  for (int node = 0; node < core::max_nodes; ++node) {
    const bool known = static_cast<std::size_t>(node) < links_.size();
    if (known && (link(node).has_events() || subscriber(node).has_events())) continue;
    if (std::ranges::find(nodes_, node) == nodes_.end()) numbers.add(node);
  }
  return numbers;
}

std::optional<Links::Change> Links::replace(const std::vector<Link::Config>& list) {
  core::NodeSet free = free_numbers();
  std::vector<int> nodes;
  for (const Link::Config& config : list) nodes.push_back(number_of(config));
  if (std::ranges::count(nodes, -1) > free.size()) return std::nullopt;
  Change change;
  for (const int node : nodes_) {
    if (std::ranges::find(nodes, node) == nodes.end()) change.gone.push_back(node);
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (nodes[i] >= 0) continue;
    nodes[i] = *free.begin();
    free.remove(nodes[i]);
    change.come.push_back(nodes[i]);
    if (static_cast<std::size_t>(nodes[i]) < links_.size()) change.reused.push_back(nodes[i]);
    make(list[i], nodes[i]);
  }
  nodes_ = std::move(nodes);
  return change;
}

}  // namespace quorumlock::detail
