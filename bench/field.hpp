#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contender.hpp"
#include "nodes.hpp"

namespace quorumlock::bench {

/// A contender and the nodes that it is on.
struct Member {
  std::string name;  ///< as it was asked for
  Nodes* nodes;
  std::unique_ptr<Contender> contender;
};

/// Contenders that take turns, all connected and warm, and their nodes. A name may say other nodes
/// than the usual: "quorumlock@3" is on three, "@3x2" on two groups of three, "+durable" on nodes
/// that sync every write, "+unix" on unix sockets: "quorumlock_fenced@1+durable". Those that say
/// the same share their nodes.
struct Field {
  Field(NodesSettings usual, const std::vector<std::string>& names);
  std::map<NodesSettings, Nodes> nodes;
  std::vector<Member> members;
};

}  // namespace quorumlock::bench
