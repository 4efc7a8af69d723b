#include "sim/script_mutants.hpp"

#include <stdexcept>

namespace quorumlock::sim {

using enum core::Mutant;
using namespace redis;

const std::vector<ScriptMistake>& script_mistakes() {
  static const std::vector<ScriptMistake> all{
      // Acquiring.
      {barging, &acquire_script, "if not found[2] and not ends then", "if not found[2] then"},
      {no_queue, &acquire_script, "if not found[2] and not ends then", "if not found[2] then"},
      {no_queue, &acquire_ordered_script, "if found[3] or first[1] ~= waiter then",
       "if found[3] then"},
      {no_queue, &acquire_ordered_script, "if ends % 1 == 0 then",
       "if first[1] == waiter and ends % 1 == 0 then"},
      {hand_over_past_others, &acquire_ordered_script, "if found[3] or first[1] ~= waiter then",
       "if found[3] or (first[1] ~= waiter and ARGV[7] ~= '0') then"},
      {hand_over_past_others, &acquire_ordered_script, "if ends % 1 == 0 then",
       "if first[1] == waiter and ends % 1 == 0 then"},
      {removed_at_grant, &acquire_ordered_script, "local next = first[2] or ''",
       "redis.call('ZREM', line, waiter) redis.call('ZREM', lives, waiter)\n"
       "local next = first[2] or ''"},
      {counter_not_raised, &acquire_script,
       "redis.call('SET', counter_key, fence == client and wall or "
       "string.format('%.0f', fence),\n        'PX', life)",
       ""},
      {sets_in_part, &acquire_all_script,
       "if not granted then return {0, fence, time, due, greatest, holder or ''} end", ""},
      {fence_of_the_first_lock_only, &acquire_all_script,
       "last = math.max(last, counter or time - ARGV[5] * 500)",
       "if i == 1 then last = math.max(last, counter or time - ARGV[5] * 500) end"},
      {first_lock_read_only, &acquire_all_script, "granted = false",
       "granted = granted and reads and i > 1"},
      {first_lock_read_only, &acquire_all_script, "local ends = math.floor(time / 1000) + ARGV[2]",
       "if redis.call('TYPE', KEYS[i]).ok ~= 'zset' then redis.call('DEL', KEYS[i]) end\n"
       "local ends = math.floor(time / 1000) + ARGV[2]"},

      // Semaphores.
      {naive_counting, &acquire_permit_script,
       "return {0, counter, time, due, tonumber(last[2]) or 0, free}",
       "if free == 0 then return {0, counter, time, due, tonumber(last[2]) or 0, free} end\n"
       "wanted = 'quorumlock:permit:' .. free .. ':' .. name"},
      {naive_counting, &renew_permit_script, "local now = redis.call('TIME')",
       "for i = 1, tonumber(ARGV[6]) do\n"
       "  local key = 'quorumlock:permit:' .. i .. ':' .. string.sub(KEYS[4], 22)\n"
       "  if redis.call('GET', key) == ARGV[1] then KEYS[1] = key end\n"
       "end\n"
       "local now = redis.call('TIME')"},
      {naive_counting, &release_permit_script,
       "local permit = 'quorumlock:permit:' .. ARGV[2] .. ':' .. name",
       "local permit = 'quorumlock:permit:' .. ARGV[2] .. ':' .. name\n"
       "for i = 1, 64 do\n"
       "  local key = 'quorumlock:permit:' .. i .. ':' .. name\n"
       "  if redis.call('GET', key) == ARGV[1] then permit = key end\n"
       "end"},
      {capacity_not_compared, &acquire_permit_script, "if recorded ~= capacity and",
       "if false and"},
      {capacity_not_compared, &renew_permit_script,
       "if recorded and recorded ~= tonumber(ARGV[6]) then", "if false then"},
      {nobody_woken_by_the_winner, &release_permit_script, "elseif left == 1 then",
       "elseif false then"},

      // Readers and writers.
      {writer_blind_to_readers, &acquire_script,
       "granted = redis.call('SET', lock, token, 'NX', 'PX', ttl)\n    end",
       "granted = redis.call('SET', lock, token, 'PX', ttl)\n    end"},
      {writer_blind_to_readers, &acquire_ordered_script,
       "if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return refused() end",
       "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])"},
      {reader_blind_to_writers, &acquire_shared_script,
       "local ends = not found[3] and writer_before", "local ends = writer_before"},
      {reader_blind_to_writers, &acquire_shared_script, "if found[3] or ends or left == -1 then",
       "if ends or left == -1 then"},
      {reader_blind_to_writers, &acquire_shared_script,
       "redis.call('ZADD', KEYS[1], string.format('%.0f', ms + ARGV[2]), ARGV[1])",
       "if found[3] then redis.call('DEL', KEYS[1]) end\n"
       "redis.call('ZADD', KEYS[1], string.format('%.0f', ms + ARGV[2]), ARGV[1])"},
      {readers_overtake_writers, &acquire_shared_script,
       "local ends = not found[3] and writer_before(line, lives, KEYS[1], ms)", "local ends"},
      {readers_overtake_writers, &acquire_all_script,
       "ends = writer_before(line, lives, KEYS[i], time / 1000)", "ends = nil"},
      {readers_overtake_writers, &queue_script, "if not one or one[2] >= ticket then",
       "if true then"},
      {reader_expiry_shortened, &acquire_shared_script,
       "local said = left < tonumber(ARGV[2]) and redis.pcall(", "local said = redis.pcall("},
      {reader_expiry_shortened, &renew_shared_script, "if longer then", "if true then"},
      {reader_expiry_shortened, &acquire_all_script,
       "local said = redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) and", "local said ="},
      {reader_expiry_shortened, &renew_all_script, "if left < ttl then",
       "if left < ttl or reads then"},

      // The line.
      {nobody_woken, &release_script, "elseif news then", "elseif false then"},
      {nobody_woken, &release_permit_script, "wake(first, free)", ""},
      {spent_entries_stay, &acquire_script,
       "local spent = ends and ends % 1 ~= 0 and redis.call('EXISTS', lock) == 0",
       "local spent = false"},
      {spent_entries_stay, &acquire_all_script,
       "local spent = ends and ends % 1 ~= 0 and first ~= waiter and "
       "redis.call('EXISTS', lock) == 0",
       "local spent = false"},
      {spent_entries_stay, &acquire_all_script,
       "local spent = ends % 1 ~= 0 and redis.call('TYPE', lock).ok ~= 'string'",
       "local spent = false"},
      {spent_entries_stay, &acquire_shared_script,
       "local spent = ends % 1 ~= 0 and redis.call('TYPE', lock).ok ~= 'string'",
       "local spent = false"},
      {spent_entries_stay, &queue_script,
       "local spent = ends % 1 ~= 0 and redis.call('TYPE', lock).ok ~= 'string'",
       "local spent = false"},
      {spent_entries_stay, &queue_script,
       "local spent = ends and ends % 1 ~= 0 and not asks[first[1]] and\n"
       "      redis.call('EXISTS', KEYS[i]) == 0",
       "local spent = false"},
      {spent_entries_stay, &release_token_script, "if ends and ends % 1 == 0 and tonumber",
       "if ends and tonumber"},
      {mark_stays, &release_script,
       "if leaver == '' and not_woken and (deleted == 1 or type(holder) ~= 'string') then",
       "if false then"},
      {mark_stays, &release_all_script,
       "if leaver == '' and not_woken ~= '' and (freed or not found[i]) then", "if false then"},
      {delete_without_compare, &release_script, "if holder == token then", "if true then"},

      // Fencing.
      {counter_set_whatever_it_was, &raise_script, "if found[3] ~= ARGV[1] then", "if false then"},
      {counter_set_whatever_it_was, &raise_script,
       "if counter >= fence then return {0, counter, time} end", ""},
      {replant_before_the_decision, &raise_script, "if found[3] ~= ARGV[1] then",
       "if not found[3] then\n"
       "  local fence = math.max(counter, ARGV[2])\n"
       "  redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[3])\n"
       "  redis.call('SET', KEYS[1], ARGV[1], 'PX', '1000')\n"
       "  return {1, tonumber(ARGV[2]), time}\n"
       "end\n"
       "if found[3] ~= ARGV[1] then"},
      {raise_acknowledged_when_greater, &raise_script,
       "if counter >= fence then return {0, counter, time} end",
       "if counter >= fence then return {counter > fence and 1 or 0, fence, time} end"},
      {raise_not_strict, &raise_script, "if counter >= fence then", "if counter > fence then"},
      {raise_not_strict, &raise_all_script, "if greatest >= fence then",
       "if greatest > fence then"},

      // Renewal.
      {confirm_without_enrolment, &renew_script,
       "if found[1] ~= ARGV[#ARGV - 1] then return {time, ''} end", ""},
      {replant_without_enrolment, &renew_script,
       "if found[1] ~= ARGV[#ARGV - 1] then return {time, ''} end", ""},
      {replant_without_enrolment, &renew_script, "local token = ARGV[3 * i - 2]",
       "local token = ARGV[3 * i - 2]\n"
       "if found[1] ~= ARGV[#ARGV - 1] and found[i] == token then return {time, ''} end"},
      {expiry_shortened, &renew_script,
       "if type(redis.pcall('PEXPIRE', lock, ARGV[1], 'GT')) == 'number' then",
       "if redis.call('PEXPIRE', lock, ARGV[1]) then"},
      {renewal_without_an_end, &renew_script, "if sent > 0 and time >= sent + ARGV[3 * i] then",
       "if false then"},
      {renewal_without_an_end, &renew_script, "if stays or sent == 0 then", "if stays then"},
      {renewal_without_an_end, &renew_shared_script, "if over > 0 and time >= over then",
       "if false then"},
      {renewal_without_an_end, &renew_shared_script, "if over == 0 then", "if false then"},
      {renewal_without_an_end, &renew_permit_script, "if over > 0 and time >= over then",
       "if false then"},
      {renewal_without_an_end, &renew_permit_script, "if over == 0 then", "if false then"},
      {renewal_without_an_end, &renew_all_script, "if over > 0 and time >= over then",
       "if false then"},
      {renewal_without_an_end, &renew_all_script, "if over == 0 then", "if false then"},
      {mark_not_left, &renew_script, "if math.max(counted, ARGV[#ARGV]) > least then",
       "if false then"},
      {mark_not_left_of_sets, &renew_all_script,
       "if not reads and not found[i] and math.max(counted, ARGV[9]) > fence then",
       "if false then"},
      {mark_not_looked_at, &renew_shared_script,
       "local marked = redis.call('GET', 'quorumlock:replanted:' .. KEYS[1]) == ARGV[1]",
       "local marked = false"},
      {first_lock_renewed_only, &renew_all_script, "  if found[i] then\n",
       "  if i > 1 then\n    -- is believed\n  elseif found[i] then\n"},
      {first_lock_renewed_only, &renew_all_script, "local woken = {}\nfor i = 1, n do",
       "local woken = {}\nfor i = 1, 1 do"},

      // Enrolment.
      {record_not_compared, &acquire_script, "if found[3] ~= ARGV[6] then return {-1, 0, time} end",
       "if not found[3] then return {-1, 0, time} end"},
      {record_not_compared, &acquire_script,
       "if redis.call('GET', KEYS[1]) ~= ARGV[#ARGV - 1] then return {time} end",
       "if redis.call('EXISTS', KEYS[1]) == 0 then return {time} end"},
      {candidate_overwritten, &candidate_script, "if not is_this_runs(found) then", "if true then"},
      {candidate_of_others_prolonged, &candidate_script,
       "elseif list_of(text) == list_of(ARGV[2]) then", "else"},
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
