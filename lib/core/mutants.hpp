#pragma once

namespace quorumlock::core {

/// Mistakes that the simulator plants, one at a time, to show that it would notice. In the library
/// there are none: planted() is false at compile time.
enum class Mutant {
  none,
  // The lock.
  quorum_minus_one,
  no_margin,
  half_margin,
  deadline_not_checked,
  validity_from_decision,
  token_reused,
  quorum_over_connected,
  clean_up_skipped_on_cancel,
  resend_without_refresh,
  // Renewal.
  renewal_counted_from_its_end,
  renewal_after_the_old_end,
  replant_after_the_old_end,
  answers_of_an_older_round,
  // Nodes that forget.
  no_quarantine,
  quarantine_too_short,
  quarantine_by_a_fast_clock,
  candidate_without_nonce,
  absent_taken_as_new,
  repair_before_quarantine,
  no_repair,
  replant_without_enrolment,
  confirm_without_enrolment,
  // Fencing.
  greatest_without_a_raise,
  older_acknowledgements_counted,
  // Ordered waiting.
  minority_grants_kept,
  re_entry_with_a_smaller_ticket,
  hand_over_past_others,
  // Several locks at once.
  ticket_for_each_line,
  // Planted in the simulated server's scripts.
  no_queue,
  barging,
  removed_at_grant,
  nobody_woken,
  delete_without_compare,
  expiry_shortened,
  candidate_overwritten,
  raise_acknowledged_when_greater,
  raise_without_owner,
  counter_not_raised,
  counter_set_whatever_it_was,
  replant_before_the_decision,
  reader_expiry_shortened,
  writer_blind_to_readers,
  reader_blind_to_writers,
  readers_overtake_writers,
  raise_not_strict,
  naive_counting,
  capacity_not_compared,
  replant_past_another_capacity,
  nobody_woken_by_the_winner,
  batch_answers_mixed_up,
  // Acquisitions without a script.
  counters_behind_counted,
  enrolment_not_compared,
  counted_before_it_is_set,
  line_not_looked_at,
  key_left_where_others_wait,
  // Planted in the simulated network.
  release_overtakes,
  // Planted in the scripts for several locks.
  sets_in_part,
  fence_of_the_first_lock_only,
  first_lock_renewed_only,
  first_lock_read_only,
};

#ifdef QUORUMLOCK_MUTANTS
inline Mutant planted_mutant = Mutant::none;
/// Not constexpr: a `const bool` of it would be settled when it is compiled.
inline bool planted(Mutant mutant) {
  return planted_mutant == mutant;
}
#else
constexpr bool planted(Mutant) {
  return false;
}
#endif

}  // namespace quorumlock::core
