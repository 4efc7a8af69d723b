#pragma once

#include <optional>
#include <string>

#include "lock/types.hpp"

namespace quorumlock::redis {

/// A node's report about itself when it is greeted.
struct ServerFacts {
  std::string run_id;  ///< the id of this run of the server; empty if it was not reported
  /// If the node was a replica in this run, the start of its master_replid, which is drawn anew at
  /// each promotion. Empty otherwise, and again once the node has had no replica for its
  /// repl-backlog-ttl, by default an hour. A node may also have a history from its start, read from
  /// a file.
  std::string history{};
  /// If Sentinels may promote a replica in the server's place: for how long after that it may still
  /// grant locks, since it does not know yet that it has lost the replica. Unset for other nodes.
  std::optional<core::Duration> outlives_failover = {};
  std::string no_info{};  ///< the server's own words, if it refused INFO

  /// The run as a new record names it. What a node remembers belongs to its run only until the node
  /// becomes a replica, whose data is another server's.
  [[nodiscard]] std::string run() const {
    return history.empty() ? run_id : run_id + '+' + history;
  }
};

}  // namespace quorumlock::redis
