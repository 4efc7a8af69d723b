#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loop/links.hpp"
#include "support/link_driver.hpp"

namespace quorumlock::test {

/// Links to the nodes n1, n2, ..., all of which are up, and an engine that sends nothing.
class LinksDriver {
 public:
  explicit LinksDriver(int nodes) : links(list(nodes), random_), engine({.nodes = nodes}, random_) {
    for (const int node : links.nodes()) {
      links.link(node).start(now);
      come_up(node);
    }
  }

 private:
  SeededRandom random_{1};

 public:
  core::Time now = core::Time(1h);
  detail::Links links;
  core::Engine engine;

  /// The commands written to this node since the last call.
  std::vector<std::string> written(int node) {
    redis::Link& link = links.link(node);
    std::vector<std::string> commands = LinkDriver::commands_in(link.output());
    link.wrote(link.output().size());
    return commands;
  }

 private:
  static redis::Membership as(int node, int nodes) {
    redis::NodeNames names;
    for (int i = 1; i <= nodes; ++i) names.push_back("n" + std::to_string(i));
    return founded("n" + std::to_string(node + 1), std::move(names));
  }
  static std::vector<redis::Link::Config> list(int nodes) {
    std::vector<redis::Link::Config> configs;
    for (int node = 1; node <= nodes; ++node) {
      const std::string name = "n" + std::to_string(node);
      configs.push_back({{.host = name}, 500ms, 2s, {.node = name}});
    }
    return configs;
  }
  void come_up(int node) {
    const redis::Membership its = as(node, static_cast<int>(links.nodes().size()));
    redis::Link& link = links.link(node);
    while (const redis::Link::Event* event = link.next(now)) {
      if (std::holds_alternative<redis::Link::Connect>(*event)) {
        link.on_open();
        for (const std::string& greeting : written(node)) {
          link.on_bytes(LinkDriver::answer_to(greeting, {.members = its}));
        }
      } else if (std::holds_alternative<redis::Link::Greeted>(*event)) {
        link.admit(now);
      } else if (std::holds_alternative<redis::Link::Enrolled>(*event)) {
        link.follow(now, all_agree(its));
      }
    }
    EXPECT_EQ(link.state(), LinkState::up);
  }
};

}  // namespace quorumlock::test
