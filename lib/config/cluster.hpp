#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>

#include "lock/claim.hpp"
#include "members/membership.hpp"
#include "wire/endpoint.hpp"

namespace quorumlock::detail {

/// One quorum of nodes: validated options and what follows from them. Immutable: the nodes are
/// those that a coordinator begins with (see Driver::nodes()).
struct Cluster {
  Options options;    ///< `nodes` are those of this quorum
  std::string group;  ///< the group's name; empty if there are no groups
  std::string mark;   ///< see core::Placement::mark()
  std::vector<redis::Endpoint> endpoints;
  std::vector<std::string> names;    ///< names of the endpoints, without secrets
  std::vector<std::string> members;  ///< the nodes' names in their list

  /// The purpose of the connections.
  enum class Purpose {
    to_lock,
    to_enrol,  ///< enrols nodes anew that have other groups: see redis::Enrolment::Config
    to_look,   ///< changes nothing unless asked, and asks for no vote
  };
  Purpose purpose = Purpose::to_lock;

  /// Makes one Cluster for each group, in the order of their names, or a single one if there are no
  /// groups.
  static Result<std::vector<Cluster>> from(Options options);

  [[nodiscard]] int size() const { return static_cast<int>(names.size()); }
};

/// How a request is to be carried out: the options of the cluster and of the request, merged.
struct Request {
  core::Terms terms;
  core::Duration wait{};
  bool ordered = false;  ///< waits in the line
  int capacity = 0;      ///< the semaphore's, if a permit is asked for; 0: a lock
  bool traced = false;   ///< the caller wants to know its steps
};

Result<Request> request_of(const Options& options, const LockOptions& asked);
/// Checks a resource's name. The error says in one sentence why it cannot be locked.
Result<void> check_resource(const Options& options, std::string_view resource);
/// Checks the other resources that are to be locked together with `resource`. A mode is for one
/// resource alone unless this function names it.
Result<void> check_others(const Options& options, const LockOptions& asked,
                          std::string_view resource, const std::vector<std::string>& others);
/// Checks the capacity if a permit of a semaphore is asked for.
Result<void> check_capacity(const LockOptions& asked, std::optional<std::ptrdiff_t> capacity);
/// Makes a node's endpoint. If `reads` is false, the environment variable with the password is not
/// looked at.
Result<redis::Endpoint> endpoint_of(const NodeOptions& node, bool reads);
/// Checks the name of a quorum group.
Result<void> check_group_name(std::string_view name);
/// Checks the ttl of a request. If the options name no max_ttl, the nodes' is known only later.
Result<void> check_ttl(const Options& options, std::chrono::nanoseconds ttl);
// The terms of a list that a client with these options would found, and those that they name.
inline core::Duration max_ttl_of(const Options& options) {
  return options.max_ttl.value_or(redis::ListTerms().max_ttl());
}
inline core::Duration memory_of(const Options& options) {
  return options.fencing_memory.value_or(redis::ListTerms().memory());
}
inline redis::NamedTerms named_terms(const Options& options) {
  redis::NamedTerms named;
  if (options.max_ttl) named.max_ttl_ms = *options.max_ttl / std::chrono::milliseconds(1);
  if (options.fencing_memory) named.memory_s = *options.fencing_memory / std::chrono::seconds(1);
  return named;
}
/// Checks for how long the nodes are to remember a counter that is not used.
Result<void> check_memory(std::string_view name, std::chrono::nanoseconds memory,
                          std::chrono::nanoseconds max_ttl);
/// Checks the stop margin of a lease of this ttl.
Result<void> check_stop_margin(std::chrono::nanoseconds margin, std::chrono::nanoseconds ttl);

}  // namespace quorumlock::detail
