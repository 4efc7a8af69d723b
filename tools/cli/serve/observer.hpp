#pragma once

#include <cstddef>

#include <quorumlock/admin.hpp>
#include <quorumlock/coordinator.hpp>
#include <quorumlock/inspection.hpp>

#include "lookout.hpp"
#include "ran_out.hpp"

namespace quorumlock::cli {

/// The pattern of the list that all viewers share.
inline constexpr const char* all_locks = "*";

/// The knowledge of `serve` about the nodes. All viewers share it; see Lookout.
class Observer {
 public:
  /// `most_locks`: as LocksQuery::most.
  Observer(Coordinator& coordinator, std::size_t most_locks);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer() { end(); }

  /// Closes the coordinator, and wakes everybody that waits for news: there will be none.
  void end();

  RanOut ran_out;  ///< the locks that ran out while somebody watched all locks
  NewsBoard board;
  Lookout<ClusterStatus> status;  ///< the key is empty
  Lookout<LockList> locks;        ///< indexed by pattern
  Lookout<Inspection> resources;  ///< indexed by name

 private:
  Coordinator& coordinator_;
};

}  // namespace quorumlock::cli
