#include "redis/disk_trust.hpp"

#include "core/mutants.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

std::string why_not_trusted(const ServerFacts& facts, const EnrolmentRecord& record,
                            const Membership& membership, const std::string& node) {
  if (!record.durable) return "has been restarted, and does not write every change to its disk";
  if (facts.durable != true) {
    return "has been restarted, and is not known to write every change to its disk any more";
  }
  if (membership.name != node && !planted(Mutant::anothers_record_adopted) &&
      !planted(Mutant::made_a_replica_by_mistake)) {
    return "has the record of " + membership.name + " and not its own: its data is a copy";
  }
  if (facts.promoted && !planted(Mutant::promotion_not_looked_at) &&
      !planted(Mutant::made_a_replica_by_mistake)) {
    return "was a replica before: its data is a copy";
  }
  return {};
}

std::string why_forgetful(const ServerFacts& facts, bool has_text,
                          const std::optional<EnrolmentRecord>& record) {
  if (!has_text) return "has no enrolment: it is new, or has forgotten everything";
  if (!record) return "has an enrolment that cannot be read";
  if (is_this_run(record->run_id, facts.run_id)) {
    return "was made a replica, so its data is a copy of another server's";
  }
  return record->durable ? "has been restarted"
                         : "has been restarted, and does not write every change to its disk";
}

}  // namespace quorumlock::redis
