#include "sim/world/mutants.hpp"

namespace quorumlock::sim {

using core::Mutant;

const std::vector<KnownMutant>& known_mutants() {
  static const std::vector<KnownMutant> all{
      {Mutant::quorum_minus_one, "quorum-minus-one", "a quorum is one vote less", 2000},
      {Mutant::no_margin, "no-margin", "validity is the whole ttl", 2000},
      {Mutant::half_margin, "half-margin", "the drift margin is half of it", 5000},
      {Mutant::deadline_not_checked, "deadline-not-checked",
       "a win is a win, however long it took", 2000},
      {Mutant::validity_from_decision, "validity-from-decision",
       "validity counts from the decision, not from before the first byte", 2000},
      {Mutant::token_reused, "token-reused", "a retry has the token of the attempt before", 20000},
      {Mutant::quorum_over_connected, "quorum-over-connected",
       "the quorum is counted over the nodes that are there", 2000},
      {Mutant::clean_up_skipped_on_cancel, "clean-up-skipped-on-cancel",
       "a cancelled wait leaves its keys", 10000},
      {Mutant::renewal_counted_from_its_end, "renewal-from-its-end",
       "a renewal counts from its last vote", 5000},
      {Mutant::renewal_after_the_old_end, "renewal-after-the-old-end",
       "a renewal counts although the lease had ended", 5000},
      {Mutant::answers_of_an_older_round, "answers-of-an-older-round",
       "answers count for whatever round is open", 20000},
      {Mutant::no_quarantine, "no-quarantine", "a node that forgot votes at once", 5000},
      {Mutant::quarantine_too_short, "quarantine-too-short", "it waits for half of max_ttl", 20000},
      {Mutant::quarantine_by_a_fast_clock, "quarantine-by-a-fast-clock",
       "it waits for max_ttl by a clock that may be fast", 100000},
      {Mutant::candidate_without_nonce, "candidate-without-nonce",
       "two candidates of one run are taken for the same", 50000},
      {Mutant::candidate_overwritten, "candidate-overwritten",
       "each client puts its own candidate there", 20000},
      {Mutant::absent_taken_as_new, "absent-taken-as-new",
       "a node without an enrolment is taken for a new one", 5000},
      {Mutant::repair_before_quarantine, "repair-before-quarantine",
       "counters are copied before the wait", 100000},
      {Mutant::no_repair, "no-repair", "a node that forgot votes with counters of its own", 20000},
      {Mutant::replant_counted_anywhere, "replant-counted-anywhere",
       "a re-planted key is a vote at once, also of a node that is not enrolled", 50000},
      {Mutant::renewal_confirmed_anywhere, "renewal-confirmed-anywhere",
       "a renewal does not look at the enrolment", 50000},
      {Mutant::greatest_without_a_raise, "greatest-without-a-raise",
       "the greatest number granted is the token, and nobody is asked to raise", 5000},
      {Mutant::older_acknowledgements_counted, "older-acknowledgements-counted",
       "an acknowledgement of an older number counts for the newer one", 50000},
      {Mutant::delete_without_compare, "delete-without-compare", "release deletes whatever is there",
       2000},
      {Mutant::expiry_shortened, "expiry-shortened", "a late renewal may shorten the expiry", 20000},
      {Mutant::raise_acknowledged_when_greater, "raise-acknowledged-when-greater",
       "a counter that is higher than asked for is an acknowledgement", 50000},
      {Mutant::raise_not_strict, "raise-not-strict",
       "a counter that is at the number already is an acknowledgement", 50000},
      {Mutant::raise_without_owner, "raise-without-owner",
       "a counter is raised for somebody who does not hold the lock there", 50000},
      {Mutant::counter_not_raised, "counter-not-raised", "a grant leaves the counter as it was", 5000},
      {Mutant::counter_set_whatever_it_was, "counter-set-whatever-it-was",
       "a raise may lower the counter", 50000},
      {Mutant::release_overtakes, "release-overtakes",
       "a release may arrive before what was sent before it", 20000},
  };
  return all;
}

}  // namespace quorumlock::sim
