#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/export.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

/// What an operator's program needs in addition to the locks: what endangers the locks of a
/// cluster, and how its nodes are enrolled. The command line is written with it.
namespace quorumlock {

/// error: a lock could be lost, or this node can never vote. hint: the cluster is well for now.
enum class Severity { error, hint };
QUORUMLOCK_EXPORT std::string_view to_string(Severity severity) noexcept;

/// One thing that endangers locks.
struct Finding {
  Severity severity;
  std::string node;  ///< Empty: the finding is about the nodes together.
  std::string code;  ///< One word for programs, such as "no_fsync".
  std::string what;
  std::string remedy;
};

/// All findings of a status (Coordinator::status), those about the nodes together first.
QUORUMLOCK_EXPORT std::vector<Finding> findings_of(const ClusterStatus& status);

/// Creates a coordinator as Coordinator::create does. In addition it enrols anew, with its own
/// options, the nodes that are enrolled with another max_ttl or for other groups; these nodes do
/// not vote until the greater of the two max_ttl has passed. For the operator only.
QUORUMLOCK_EXPORT Result<Coordinator> create_enrolling(Options options);

/// The operator's word that nodes that are new, or have forgotten, may vote again although fewer
/// other nodes remember than it takes to vouch for them. Each still waits for max_ttl, and if too
/// few others remember, the order of its fencing tokens rests on the nodes' clocks.
///
/// If there are several groups, that word takes effect once no node of any group votes on the old
/// terms and every lease granted on the old terms has run out, so that a resource that moves to
/// another group is held in neither.
///
/// For a coordinator that create_enrolling() returned. Call it repeatedly until status() shows that
/// every node votes. Blocking; not on the loop's thread.
QUORUMLOCK_EXPORT void vouch_for_nodes(const Coordinator& coordinator);

/// Deletes the fencing counters of resources that nobody will ever lock again, on every node that
/// answers. A resource that is locked again afterwards gets smaller fencing tokens than before.
/// Blocking, takes one round trip for every eight resources; not on the loop's thread.
QUORUMLOCK_EXPORT void forget_counters(Coordinator& coordinator,
                                       std::vector<std::string> resources);

}  // namespace quorumlock
