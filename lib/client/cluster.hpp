#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/options.hpp>

#include "core/claim.hpp"
#include "redis/endpoint.hpp"

namespace quorumlock::client {

/// One quorum of nodes: options that have been checked, with what follows from them. Does not
/// change any more.
struct Cluster {
  Options options;    ///< of which `nodes` are its own
  std::string group;  ///< its name, where there are groups
  std::string mark;   ///< see core::Placement::mark()
  std::vector<redis::Endpoint> endpoints;
  std::vector<std::string> names;  ///< of the endpoints, without secrets

  bool changes_terms = false;  ///< see redis::Enrolment::Config

  /// Each of the groups, in the order of their names, or the one that has none.
  static Result<std::vector<Cluster>> from(Options options);

  [[nodiscard]] int size() const { return static_cast<int>(names.size()); }
  /// The votes, a core::Tally or core::PackedVotes, as the user sees them, without the nodes' own
  /// words.
  template <class Votes>
  [[nodiscard]] Outcome outcome_of(const Votes& votes, int attempts) const;
};

/// How a request is to be carried out: the options of the cluster and of the request together.
struct Request {
  core::Terms terms;
  core::Duration wait{};
  bool ordered = false;  ///< waits in the line
  int capacity = 0;      ///< of the semaphore of which a permit is asked for; 0: a lock
};

Result<Request> request_of(const Options& options, const LockOptions& asked);
/// The sentence that says why this cannot be locked, where it cannot.
Result<void> check_resource(const Options& options, std::string_view resource);
/// Likewise for those that are to be locked together with it.
Result<void> check_others(const Options& options, std::string_view resource,
                          const std::vector<std::string>& others);
/// Likewise of a semaphore, where it is one.
Result<void> check_capacity(const LockOptions& asked, std::optional<std::ptrdiff_t> capacity);
/// Likewise of what a quorum group is called.
Result<void> check_group_name(std::string_view name);
Result<void> check_ttl(const Options& options, std::chrono::nanoseconds ttl);

}  // namespace quorumlock::client
