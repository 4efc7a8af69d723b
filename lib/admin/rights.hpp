#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply.hpp"

// Which rights of a node's access control list the library needs, and what is lost without one.
namespace quorumlock::detail {

/// A right to a command or a channel.
struct Right {
  std::string_view name;  ///< as ACL SETUSER names it, without its sign
  bool vital;             ///< without it the node casts no vote, or locks are not what they promise
  std::string_view lost;  ///< what is lost without it: a clause about the node
};
/// All that a client uses, apart from EVAL and EVALSHA.
std::span<const Right> all_rights();
/// The right with this name, or null.
const Right* right_named(std::string_view name);

/// A command that does nothing, and shows by its error whether this user may call it.
struct Probe {
  std::string_view right;
  std::vector<std::string_view> words;
};
const std::vector<Probe>& probes();
/// A script that returns the names of all commands that scripts of ours call and that this user may
/// not call. It changes nothing.
extern const std::string_view probing_script;

/// Whether a reply says that the user lacks a right.
bool is_forbidden(const redis::Reply& reply);

}  // namespace quorumlock::detail
