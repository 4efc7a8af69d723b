#pragma once

namespace quorumlock::core {

/// Mistakes that the simulator plants, one at a time, to show that it would notice them. The
/// library itself has none: planted() is false at compile time.
enum class Mutant {
  none,
  // The lock.
  quorum_minus_one,
  no_margin,
  half_margin,
  no_rounding,
  deadline_not_checked,
  validity_from_decision,
  token_reused,
  quorum_over_connected,
  clean_up_skipped_on_cancel,
  // Renewal.
  renewal_counted_from_its_end,
  renewal_after_the_old_end,
  answers_of_an_older_round,
  // Nodes that forget.
  no_quarantine,
  quarantine_too_short,
  quarantine_by_a_fast_clock,
  absent_taken_as_new,
  repair_before_the_wait,
  candidate_without_nonce,
  watch_goes_on,
  late_times_count,
  no_repair,
  replant_without_enrolment,
  confirm_without_enrolment,
  // Fencing.
  greatest_without_a_raise,
  older_acknowledgements_counted,
  silent_node_waited_for,
  // Numbers that somebody makes up.
  bad_counters_believed,
  bad_sources_believed,
  bad_floors_believed,
  one_as_great_is_enough,
  // Ordered waiting.
  minority_grants_kept,
  re_entry_with_a_smaller_ticket,
  // Several locks at once.
  ticket_for_each_line,
  // How much is sent at once.
  everything_sent_at_once,
  raises_sent_at_once,
  late_since_it_was_sent,
  // Planted in the text of the scripts (tests/sim/script_mutants.cpp).
  no_queue,
  barging,
  removed_at_grant,
  nobody_woken,
  spent_entries_stay,
  mark_stays,
  delete_without_compare,
  expiry_shortened,
  granted_twice,
  others_extended,
  taken_back_by_a_renewal,
  vote_without_an_expiry,
  candidate_overwritten,
  candidate_not_compared,
  candidate_of_an_older_run,
  witness_not_compared,
  raised_for_anybody,
  candidate_of_others_prolonged,
  raise_acknowledged_when_greater,
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
  nobody_woken_by_the_winner,
  batch_answers_mixed_up,
  // Renewals that come late, and extends by token after another's hold.
  renewal_without_an_end,
  too_late_believed,
  mark_not_left,
  mark_not_left_of_sets,
  mark_not_looked_at,
  extended_on_any_counters,
  readers_extended_by_token,
  // A client whose own clock stood still.
  nodes_blamed,
  judged_once,
  leases_kept,
  // Connections that something on the path has forgotten.
  idle_connection_trusted,
  // Repair.
  floor_below_the_clocks,
  record_without_nonce,
  sources_record_not_compared,
  old_repair_goes_on,
  wait_by_own_time_alone,
  each_client_waits,
  // Once per period.
  once_by_one_node,
  once_not_noted_again,
  once_not_repaired,
  repaired_without_vouchers,
  once_of_a_former_holder,
  once_of_a_lost_lock,
  first_ticket_tries,
  // The list of nodes changes.
  settled_without_a_wait,
  one_wait_for_two_steps,
  nodes_seen_once,
  committed_on_too_few,
  committed_on_n_minus_q,
  old_list_accepted,
  record_not_compared,
  one_voucher_is_enough,
  blank_nodes_vouch,
  vouchers_by_new_list,
  furthest_word_taken,
  settled_on_one_word,
  epochs_compared,
  majority_by_numbers,
  identity_by_elimination,
  votes_needed_by_own_list,
  asks_by_a_later_record,
  old_connections_kept,
  followers_kept,
  silent_nodes_counted,
  read_before_the_name,
  moved_list_ignored,
  two_steps_merged,
  counters_not_repaired,
  scan_of_too_few,
  founding_without_id,
  founding_of_two_lists,
  founded_beside_a_record,
  seen_to_wait_once,
  founding_of_another_list,
  nodes_left_behind,
  hopeless_list_kept,
  names_without_a_database,
  list_on_disk_ignored,
  decided_record_kept,
  refused_write_repeated,
  greater_max_ttl_at_once,
  unsettled_waits_for_the_old,
  announced_waits_for_the_new,
  longer_memory_at_once,
  shorter_life_at_once,
  expired_not_in_the_floor,
  own_counters_not_read,
  settled_at_any_stage,
  lives_not_prolonged,
  lesser_counter_believed,
  raised_below_the_floor,
  forgotten_max_ttl_ignored,
  // Planted in the simulated network.
  release_overtakes,
  believed_in_after_release,
  // Planted in the text of the scripts for several locks.
  sets_in_part,
  fence_of_the_first_lock_only,
  first_lock_renewed_only,
  first_lock_read_only,
};

#ifdef QUORUMLOCK_MUTANTS
inline Mutant planted_mutant = Mutant::none;
/// This function is not constexpr: a `const bool` made from it would be evaluated at compile time.
inline bool planted(Mutant mutant) {
  return planted_mutant == mutant;
}
#else
inline constexpr Mutant planted_mutant = Mutant::none;
constexpr bool planted(Mutant) {
  return false;
}
#endif

}  // namespace quorumlock::core
