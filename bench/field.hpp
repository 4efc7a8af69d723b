#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contender.hpp"
#include "nodes.hpp"

namespace quorumlock::bench {

/// A contender and its nodes.
struct Member {
  std::string name;  ///< its name on the command line
  Nodes* nodes;
  std::unique_ptr<Contender> contender;
};

/// Connected and warm contenders that take turns, and their nodes. A name may choose other nodes:
/// "quorumlock@3" uses three, "@3x2" two groups of three, "+durable" nodes that sync every write,
/// "+unix" unix sockets, "+tls" TLS, "+far" nodes whose answers come 0.2 ms later, as in
/// "quorumlock_fenced@1+durable". Contenders with the same suffixes share their nodes.
struct Field {
  Field(NodesSettings usual, const std::vector<std::string>& names);
  std::map<NodesSettings, Nodes> nodes;
  std::vector<Member> members;
};

}  // namespace quorumlock::bench
