#include "sim/script_mutants.hpp"

#include <stdexcept>

namespace quorumlock::sim {

using enum core::Mutant;
using namespace redis;

const std::vector<ScriptMistake>& script_mistakes() {
  static const std::vector<ScriptMistake> all{
      // Acquiring.
      {barging, &acquire_script, "if holder == nil and not before[1] then",
       "if holder == nil then"},
      {no_queue, &acquire_script, "if holder == nil and not before[1] then",
       "if holder == nil then"},
      {no_queue, &acquire_all_script, "if before[1] or not is_free then", "if not is_free then"},
      {removed_at_grant, &acquire_all_script, "local next = not reads",
       "if waiter ~= '' then for i = 1, n do leave(KEYS[i], waiter) end end\n"
       "local next = not reads"},
      {counter_not_raised, &acquire_script,
       "redis.call('SET', counter_key, string.format('%.0f', fence), 'PX', life, 'GET')", ""},
      {counter_not_raised, &acquire_script,
       "call('SET', counters[number], fence_text, 'PX', life, 'GET') == written", "true"},
      {granted_twice, &acquire_script,
       "counter < wall and counter % 1 == 0 and\n"
       "      call('SET', lock, token, 'NX', 'PX', ttl, 'GET') == false then",
       "counter < wall and counter % 1 == 0 and\n"
       "      call('SET', lock, token, 'PX', ttl, 'GET') ~= nil then"},
      {sets_in_part, &acquire_all_script, "if not granted then return",
       "if not granted and n == 1 then return"},
      {fence_of_the_first_lock_only, &acquire_all_script,
       "last = math.max(last, counter or 0, time - ARGV[15] * 500)",
       "if i == 1 then last = math.max(last, counter or 0, time - ARGV[15] * 500) end"},
      {first_lock_read_only, &acquire_all_script, "granted = false",
       "granted = granted and reads and i > 1"},

      // Semaphores.
      {naive_counting, &acquire_all_script, "if not granted then return",
       "if slot > 0 and first and first > 0 then\n"
       "  granted, locks = true, {permit_of(KEYS[1], first)}\n"
       "end\n"
       "if not granted then return"},
      {naive_counting, &renew_all_script, "if slot > 0 then locks = {permit_of(KEYS[1], slot)} end",
       "if slot > 0 then\n"
       "  for i = 1, 64 do\n"
       "    if redis.call('GET', permit_of(KEYS[1], i)) == token then slot = i end\n"
       "  end\n"
       "  locks = {permit_of(KEYS[1], slot)}\n"
       "end"},
      {naive_counting, &release_all_script, "local lock = slot > 0 and permit_of(key, slot) or key",
       "local lock = slot > 0 and permit_of(key, slot) or key\n"
       "for i = 1, slot > 0 and 64 or 0 do\n"
       "  if redis.call('GET', permit_of(key, i)) == token then lock = permit_of(key, i) end\n"
       "end"},
      {capacity_not_compared, &acquire_all_script,
       "if is_another(KEYS[1], recorded, capacity) then", "if false then"},
      {capacity_not_compared, &renew_all_script,
       "if is_another(KEYS[1], recorded, tonumber(ARGV[7])) then", "if false then"},
      {nobody_woken_by_the_winner, &release_all_script, "elseif slot > 0 and left == 1 then",
       "elseif false then"},

      // Readers and writers.
      {writer_blind_to_readers, &acquire_script, "if holder == nil and not before[1] then",
       "if (holder == nil or holder == read_mark) and not before[1] then"},
      {writer_blind_to_readers, &acquire_script,
       "redis.call('SET', lock, token, 'NX', 'PX', ARGV[1])",
       "redis.call('SET', lock, token, 'PX', ARGV[1])"},
      {writer_blind_to_readers, &acquire_all_script,
       "local is_free = holder == nil or (reads and holder == read_mark)",
       "local is_free = holder == nil or holder == read_mark"},
      {writer_blind_to_readers, &acquire_all_script,
       "redis.call('SET', locks[i], ARGV[1], 'NX', 'PX', ARGV[2])",
       "redis.call('SET', locks[i], ARGV[1], 'PX', ARGV[2])"},
      {reader_blind_to_writers, &acquire_all_script,
       "local is_free = holder == nil or (reads and holder == read_mark)",
       "local is_free = holder == nil or reads"},
      {readers_overtake_writers, &acquire_all_script, "if before[1] or not is_free then",
       "if (before[1] and not reads) or not is_free then"},
      {readers_overtake_writers, &queue_script,
       "while count > 0 and ticket_of(first[count]) >= ticket_of(waiter) do count = count - 1 end",
       "count = 0"},
      {reader_expiry_shortened, &acquire_all_script, "math.max(redis.call('PTTL', lock), least)",
       "least"},
      {reader_expiry_shortened, &renew_all_script, "math.max(redis.call('PTTL', lock), least)",
       "least"},

      // The line.
      {nobody_woken, &release_script, "elseif told and not told[entry] then", "elseif false then"},
      {nobody_woken, &release_all_script, "elseif told and not told[entry] then",
       "elseif false then"},
      {spent_entries_stay, &acquire_script, "(not asking[entry] and is_spent(lock, holder, entry))",
       "false"},
      {spent_entries_stay, &acquire_all_script,
       "(not asking[entry] and is_spent(lock, holder, entry))", "false"},
      {spent_entries_stay, &queue_script, "(not asking[entry] and is_spent(lock, holder, entry))",
       "false"},
      {spent_entries_stay, &release_script, "(not asking[entry] and is_spent(lock, holder, entry))",
       "false"},
      {spent_entries_stay, &release_all_script,
       "(not asking[entry] and is_spent(lock, holder, entry))", "false"},
      {mark_stays, &release_all_script, "redis.call('HDEL', grants_of(key), not_woken)", ""},
      {delete_without_compare, &release_script,
       "if holder ~= token or holder == read_mark then return 0 end", ""},

      // Fencing.
      {counter_set_whatever_it_was, &raise_script,
       "if not ours then return {3, greatest, time} end", ""},
      {counter_set_whatever_it_was, &raise_script,
       "if greatest >= fence then return {0, greatest, time} end", ""},
      {replant_before_the_decision, &raise_script, "if not ours then return",
       "if n == 1 and redis.call('EXISTS', KEYS[1]) == 0 then\n"
       "  local fence = math.max(greatest, ARGV[2])\n"
       "  redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[5])\n"
       "  redis.call('SET', KEYS[1], ARGV[1], 'PX', '1000')\n"
       "  return {1, tonumber(ARGV[2]), time}\n"
       "end\n"
       "if not ours then return"},
      {raise_acknowledged_when_greater, &raise_script,
       "if greatest >= fence then return {0, greatest, time} end",
       "if greatest >= fence then return {greatest > fence and 1 or 0, fence, time} end"},
      {raise_not_strict, &raise_script, "if greatest >= fence then", "if greatest > fence then"},

      {raised_below_the_floor, &raise_script, "greatest, ours = tonumber(ARGV[4]), true",
       "greatest, ours = 0, true"},
      {lesser_counter_believed, &acquire_script, "math.max(counter or 0, begins, seen, floor)",
       "math.max(counter or begins, seen, floor)"},
      {lesser_counter_believed, &acquire_all_script, "counter or 0, time - ARGV[15] * 500",
       "counter or time - ARGV[15] * 500"},
      {lives_not_prolonged, &repair_script, "elseif found[i] then", "elseif false then"},
      {raised_for_anybody, &raise_script, "if not ours then return {3, greatest, time} end", ""},

      // Once per period.
      {once_of_a_former_holder, &once_script,
       "if found[2] ~= ARGV[1] or holder ~= ARGV[4] then return {3, 0, time} end", ""},
      {once_of_a_lost_lock, &once_script, " or holder ~= ARGV[4]", ""},

      // Renewal.
      {confirm_without_enrolment, &renew_script,
       "if found[1] ~= ARGV[last + 2] then return {time, ''} end", ""},
      {replant_without_enrolment, &renew_script,
       "if found[1] ~= ARGV[last + 2] then return {time, ''} end", ""},
      {replant_without_enrolment, &renew_script, "local token = ARGV[3 * i]",
       "local token = ARGV[3 * i]\n"
       "if found[1] ~= ARGV[last + 2] and found[i + 1] == token then return {time, ''} end"},
      {expiry_shortened, &renew_script, "redis.call('PEXPIRE', KEYS[i], ARGV[1], 'GT')",
       "redis.call('PEXPIRE', KEYS[i], ARGV[1])"},
      {others_extended, &renew_script, "elseif found[i + 1] == token then",
       "elseif found[i + 1] then"},
      {taken_back_by_a_renewal, &renew_script, "elseif found[i + 1] then", "elseif false then"},
      {taken_back_by_a_renewal, &renew_script, "if exists(lock) then return '0' end", ""},
      {vote_without_an_expiry, &renew_script, "redis.call('PEXPIRE', KEYS[i], ARGV[1], 'GT')", ""},
      {renewal_without_an_end, &renew_script, "if sent > 0 and time >= sent + ARGV[3 * i + 2] then",
       "if false then"},
      {renewal_without_an_end, &renew_script, "if stays or sent == 0 then", "if stays then"},
      {renewal_without_an_end, &renew_all_script, "if over > 0 and time >= over then",
       "if false then"},
      {renewal_without_an_end, &renew_all_script, "if over == 0 then", "if false then"},
      {mark_not_left, &renew_script, "if math.max(counted, floor) > least then", "if false then"},
      {mark_not_left_of_sets, &renew_all_script,
       "if slot == 0 and not reads and holders[i] == nil and math.max(counted, ARGV[10]) > fence "
       "then",
       "if false then"},
      {mark_not_looked_at, &renew_all_script, "elseif mode == 't' and", "elseif false and"},
      {readers_extended_by_token, &renew_all_script, "if reads and holder == read_mark then",
       "if (reads or mode == 't') and holder == read_mark then"},
      {readers_extended_by_token, &renew_all_script, "if reads then\n      local was_written",
       "if reads or holders[i] == read_mark then\n      local was_written"},
      {first_lock_renewed_only, &renew_all_script, "if reads and holder == read_mark then",
       "if i > 1 then\n      -- is believed\n    elseif reads and holder == read_mark then"},
      {first_lock_renewed_only, &renew_all_script, "local told = {}\n  for i = 1, n do",
       "local told = {}\n  for i = 1, 1 do"},

      // Enrolment.
      {record_not_compared, &acquire_script,
       "if (found.err and redis.call('GET', counters[1]) or found[1]) ~= ARGV[last + 1] then",
       "if not (found.err and redis.call('GET', counters[1]) or found[1]) then"},
      {candidate_overwritten, &candidate_script, "if not since or since > time then",
       "if true then"},
      {candidate_not_compared, &enrol_script,
       "if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end", ""},
      {candidate_of_an_older_run, &candidate_script, "local since = is_this_runs(found) and",
       "local since = found and"},
      {witness_not_compared, &witness_script,
       "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end", ""},
      {candidate_of_others_prolonged, &candidate_script,
       "elseif list_of(text) == list_of(ARGV[3]) then", "else"},
  };
  return all;
}

std::string with_mistake(const redis::Script& script, core::Mutant mutant) {
  std::string source(script.source);
  for (const ScriptMistake& one : script_mistakes()) {
    if (one.mutant != mutant || one.script != &script) continue;
    const std::size_t at = source.find(one.right);
    if (at == source.npos || source.find(one.right, at + 1) != source.npos) {
      throw std::logic_error("a mistake does not fit its script any more: " +
                             std::string(one.right));
    }
    source.replace(at, one.right.size(), one.wrong);
  }
  return source;
}

}  // namespace quorumlock::sim
