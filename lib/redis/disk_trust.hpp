#pragma once

#include <optional>
#include <string>

#include "redis/enrolment_record.hpp"
#include "redis/membership.hpp"

namespace quorumlock::redis {

/// What a node reports about itself when it is greeted.
struct ServerFacts {
  std::string run_id;  ///< of this run of the server; empty if it was not reported
  /// Whether each write is on the node's disk, and nowhere else, before it is answered: appendonly
  /// yes, appendfsync always, no-appendfsync-on-rewrite no, and no attached replica. Unset if the
  /// node did not report it.
  std::optional<bool> durable;
  /// The node's data was once another server's in this run (master_replid2, second_repl_offset);
  /// also true if the node did not report these.
  bool promoted = false;
};

/// Why the node of this name, whose record was written in another run under trust_disk, may have
/// forgotten locks. Empty if it remembers, as far as the node itself can report.
std::string why_not_trusted(const ServerFacts& facts, const EnrolmentRecord& record,
                            const Membership& membership, const std::string& node);

}  // namespace quorumlock::redis
