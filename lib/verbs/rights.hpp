#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/reply.hpp"

// Which rights of a node's access control list the library needs, and what is lost without one.
namespace quorumlock::redis {

/// A right to a command, a channel or keys.
struct Right {
  std::string_view name;  ///< the name in ACL SETUSER, without its sign
  bool vital;             ///< without it the node casts no vote, or locks are not what they promise
  std::string_view lost;  ///< what is lost without it: a clause about the node
};
/// All that a client uses, apart from EVAL and EVALSHA.
std::span<const Right> all_rights();
/// Whether a right is one to keys.
bool is_of_keys(std::string_view right);
/// The right with this name, or null. The keys of locks have the same right whatever their prefix.
const Right* right_named(std::string_view name);

/// A key that nobody uses: no token is "-".
std::string nobodys_key(std::string_view key_prefix);
/// The arguments of the script `writable`, by which it looks for the rights without which no lock
/// at all is granted. If `key_prefix` is empty, the keys of locks are left out.
std::vector<std::string> needs_of_every_lock(std::string_view key_prefix, bool fencing);
/// What a missing right forbids and costs, as a clause about the node; empty if it is not known.
std::string without(std::string_view name);

/// A command that does nothing, and shows by its error whether this user may call it.
struct Probe {
  std::string right;
  std::vector<std::string> words;
};
/// The probes of commands, of the node's own keys, and of the keys of locks. If `key_prefix` is
/// empty, the keys of locks may have any name, and are left out.
std::vector<Probe> probes(std::string_view key_prefix);

/// Whether a reply says that the user lacks this right, or that the server has no such command.
bool is_forbidden(std::string_view right, const Reply& reply);

}  // namespace quorumlock::redis
