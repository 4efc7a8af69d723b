#include "core/mutants.hpp"
#include "redis/enrolment.hpp"

// Decides whether a node's disk may be trusted, with what the other nodes noted about it.
namespace quorumlock::redis {

using core::Mutant;
using core::planted;
using core::Time;

void Enrolment::run(Errand errand, Step step) {
  go(step);
  errand_ = errand;
}

/// Puts wanted_ on the node. If the node is not durable, other nodes note that first: after this
/// run the node may start from an older record, which says that it was durable.
void Enrolment::write(Step step) {
  const std::optional<EnrolmentRecord> record = EnrolmentRecord::parse(wanted_);
  const bool trusts =
      record->terms.policy == Quarantine::trust_disk && config_.policy != Quarantine::unsafe_never;
  if (!trusts || record->durable) return go(step);
  after_noting_ = step;
  run(Errand::note, Step::noting);
}

void Enrolment::done(Time now, const Done& what) {
  if (const auto* repaired = std::get_if<Repaired>(&what)) return on_repaired(*repaired);
  if (const auto* end = std::get_if<ErrandEnd>(&what)) return on_errand_end(now, *end);
  if (step_ == Step::repairing) go(Step::yielding);
}

void Enrolment::on_errand_end(Time now, ErrandEnd end) {
  const bool good = end == ErrandEnd::good;
  if (step_ == Step::asking) {
    if (good) return go(Step::adopting);
    hopes_ = end == ErrandEnd::too_few;
    why_ = hopes_
               ? "has been restarted, and the other nodes do not vouch for its having been durable"
               : "has been restarted, and was seen not to write every change to its disk";
    go(Step::applying);
  } else if (step_ == Step::noting) {
    if (good) return go(after_noting_);
    vote_ = Vote::quarantined;
    if (after_noting_ == Step::enrolling) return go(Step::yielding);
    rest(now, Step::refused,
         "does not write every change to its disk, which too few other nodes know yet");
  }
}

/// Checks whether an enrolled node is still durable.
void Enrolment::look_at(Time now, ServerFacts facts) {
  facts_ = std::move(facts);
  if (step_ != Step::enrolled) return;
  next_look_ = now + config_.between_checks;
  if (facts_.durable.value_or(true)) return;
  const std::optional<EnrolmentRecord> record = EnrolmentRecord::parse(record_);
  if (record->durable) return judge(now, {record_, membership_.text()});
  errand_ = Errand::remind;
}

/// Why a node whose record was written in another run, under trust_disk, may have forgotten locks.
/// Empty if it remembers, as far as the node itself can report.
std::string Enrolment::why_not_trusted(const EnrolmentRecord& record,
                                       const Membership& membership) const {
  if (!record.durable) return "has been restarted, and does not write every change to its disk";
  if (facts_.durable != true) {
    return "has been restarted, and is not known to write every change to its disk any more";
  }
  if (membership.name != config_.node && !planted(Mutant::anothers_record_adopted) &&
      !planted(Mutant::made_a_replica_by_mistake)) {
    return "has the record of " + membership.name + " and not its own: its data is a copy";
  }
  if (facts_.promoted && !planted(Mutant::promotion_not_looked_at) &&
      !planted(Mutant::made_a_replica_by_mistake)) {
    return "was a replica before: its data is a copy";
  }
  return {};
}

}  // namespace quorumlock::redis
