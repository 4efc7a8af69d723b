#pragma once

#include <optional>
#include <string>

#include "core/types.hpp"
#include "redis/enrolment_record.hpp"
#include "redis/membership.hpp"

namespace quorumlock::redis {

/// A node's report about itself when it is greeted.
struct ServerFacts {
  std::string run_id;  ///< the id of this run of the server; empty if it was not reported
  /// Whether each write is on the node's disk, and nowhere else, before it is answered: appendonly
  /// yes, appendfsync always, no-appendfsync-on-rewrite no, and no attached replica. Unset if the
  /// node did not report it.
  std::optional<bool> durable;
  /// The node's data was once another server's in this run (master_replid2, second_repl_offset);
  /// also true if the node did not report these.
  bool promoted = false;
  /// If the node was a replica in this run, the start of its master_replid, which is drawn anew at
  /// each promotion. Empty otherwise, and again once the node has had no replica for its
  /// repl-backlog-ttl, by default an hour. A node may also have a history from its start, read from
  /// a file.
  std::string history{};
  /// If Sentinels may promote a replica in the server's place: for how long after that it may still
  /// grant locks, since it does not know yet that it has lost the replica. Unset for other nodes.
  std::optional<core::Duration> outlives_failover = {};

  /// The run as a new record names it. What a node remembers belongs to its run only until the node
  /// becomes a replica, whose data is another server's.
  [[nodiscard]] std::string run() const {
    return history.empty() ? run_id : run_id + '+' + history;
  }
};

/// Why the node of this name, whose record was written in another run under trust_disk, may have
/// forgotten locks. Empty if it remembers, as far as the node itself can report.
std::string why_not_trusted(const ServerFacts& facts, const EnrolmentRecord& record,
                            const Membership& membership, const std::string& node);

/// Why a node without a record of its present run may have forgotten locks, if no disk is trusted.
/// `has_text`: something stands in the place of its record.
std::string why_forgetful(const ServerFacts& facts, bool has_text,
                          const std::optional<EnrolmentRecord>& record);

}  // namespace quorumlock::redis
