#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>
#include <quorumlock/result.hpp>

// What the operator's library, quorumlock-admin, needs beside the public classes: to ask the nodes
// of a coordinator commands of its choice. Both libraries are of one build, and no program may use
// this.
namespace quorumlock::detail {

/// A coordinator that enrols nodes anew that have other groups.
QUORUMLOCK_EXPORT Result<Coordinator> create_to_enrol(Options options);
/// A coordinator that changes nothing on the nodes unless it is asked to, and asks for no vote.
QUORUMLOCK_EXPORT Result<Coordinator> create_to_look(Options options);

/// A node as a coordinator has it in its list.
struct ListedNode {
  int number = 0;              ///< by which a NodeQuestion names it
  std::string node{};          ///< its URL, without user and password
  std::string name{};          ///< its name in the list
  std::string record{};        ///< the record that it would be enrolled with now
  std::uint64_t founding = 0;  ///< of the list that would be founded now
  // Its terms.
  std::chrono::milliseconds max_ttl{};
  std::chrono::seconds fencing_memory{};
  /// A clause, if another address leads to the same server, or if it does not say which run it is.
  std::string unfit{};
  bool is_enrolled = false;  ///< whether its record lets it vote
  std::string refusal{};     ///< why it grants no lock; empty if it would
  bool may_relent = false;   ///< whether it refuses for now only
};
/// The nodes of a group, as a coordinator knows them.
struct ListedGroup {
  std::string name{};  ///< empty if there are no groups
  int quorum = 0;
  std::string key_prefix{};
  std::vector<ListedNode> nodes{};
};
/// The groups. If `anew`, the coordinator asks each node again for what may have changed: an answer
/// to a question that is asked later comes after that. Errc::would_deadlock on a loop's thread.
QUORUMLOCK_EXPORT Result<std::vector<ListedGroup>> listed_groups(const Coordinator& coordinator,
                                                                 const char* call, bool anew);

/// A node's reply, in the types of RESP2.
struct NodeReply {
  enum class Type { string, status, error, integer, nil, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text{};                 ///< of a string, status or error
  std::vector<NodeReply> elements{};  ///< of an array
};
/// A command for a node.
struct NodeQuestion {
  int node = 0;  ///< its ListedNode::number
  std::vector<std::string> words{};
};
/// The answer to it.
struct NodeAnswer {
  std::optional<NodeReply> reply{};  ///< unset if there is none
  std::string run{};                 ///< the run of the server that replied
  Vote vote = Vote::granted;         ///< another one: it is an error, or there is none
  std::string trouble{};             ///< then: why, in the node's words or ours

  /// Whether there is a reply that is no error.
  [[nodiscard]] bool good() const { return vote == Vote::granted; }
};
/// Asks nodes of this group some questions at once, and waits for all answers, which are in the
/// order of the questions. A node that does not answer within node_timeout has none.
QUORUMLOCK_EXPORT Result<std::vector<NodeAnswer>> ask_nodes(const Coordinator& coordinator,
                                                            const char* call, std::size_t group,
                                                            std::vector<NodeQuestion> questions);

/// The name in the list of a node with these options.
QUORUMLOCK_EXPORT Result<std::string> listed_name(const NodeOptions& node);

/// See quorumlock::vouch_for_nodes().
QUORUMLOCK_EXPORT Result<void> vouch(const Coordinator& coordinator);

}  // namespace quorumlock::detail
