#include "script_forms.hpp"

#include "redis/scripts.hpp"

namespace quorumlock::bench {
namespace {

// What acquire.lua is called with, by name and as a function.
constexpr std::string_view full =
    "EVALSHA $acquire 3 $lock $counter $enrolment $token 10000 0 $wall 2592000000 $record 0";
constexpr std::string_view as_function =
    "FCALL acquire 3 $lock $counter $enrolment $token 10000 0 $wall 2592000000 $record 0";
constexpr std::string_view few = "EVALSHA $acquire 1 $lock $token 10000 0 $wall $record 0";
constexpr std::string_view plain_set = "SET $lock $token NX PX 10000";
constexpr std::string_view release = "EVALSHA $release 1 $lock $token";

// The variants are acquire.lua in pieces, so that each differs from it in one thing.
#define TIME                         \
  "local now = redis.call('TIME')\n" \
  "local time = now[1] * 1000000 + now[2]\n"
#define LOOK                                                      \
  "local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])\n" \
  "if found[1] ~= ARGV[6] then return {-1, 0, time} end\n"        \
  "local counter = tonumber(found[2])\n"                          \
  "if found[3] then return {0, counter or 0, time, redis.call('PTTL', KEYS[1])} end\n"
#define LINE(is_there)                                                \
  "local line = 'quorumlock:queue:' .. KEYS[1]\n"                     \
  "while " is_there                                                   \
  " do\n"                                                             \
  "  local lives = 'quorumlock:waiting:' .. KEYS[1]\n"                \
  "  local first = redis.call('ZRANGE', line, 0, 0)[1]\n"             \
  "  local ends = redis.call('ZSCORE', lives, first)\n"               \
  "  if ends and ends * 1000 >= time then\n"                          \
  "    return {0, counter or 0, time, redis.call('PTTL', KEYS[1])}\n" \
  "  end\n"                                                           \
  "  redis.call('ZREM', line, first)\n"                               \
  "  redis.call('ZREM', lives, first)\n"                              \
  "end\n"
#define NOBODY_WAITS LINE("redis.call('EXISTS', line) == 1")
#define FENCE                                                                                 \
  "local wall = tonumber(ARGV[4])\n"                                                          \
  "local fence = math.max(math.max(counter or time - ARGV[5] * 500, ARGV[3], ARGV[7]) + 1,\n" \
  "  math.min(wall, time + 60000000))\n"
#define LIMIT                                                                            \
  "if fence >= 9007199254740992 then\n"                                                  \
  "  return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')\n" \
  "end\n"
#define COUNT                                                                               \
  "redis.call('SET', KEYS[2], fence == wall and ARGV[4] or string.format('%.0f', fence),\n" \
  "  'PX', ARGV[5])\n"
#define LOCK                                                               \
  "if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then\n" \
  "  return {0, fence, time, redis.call('PTTL', KEYS[1])}\n"               \
  "end\n"
#define GRANT "return {1, fence, time}\n"

constexpr std::string_view nothing = "return {1, 2, 3}";
constexpr std::string_view only_time = TIME "return {1, 2, time}";
constexpr std::string_view without_time =
    "local time = tonumber(ARGV[4])\n" LOOK NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT;
constexpr std::string_view three_gets = TIME
    "if redis.call('GET', KEYS[3]) ~= ARGV[6] then return {-1, 0, time} end\n"
    "local counter = tonumber(redis.call('GET', KEYS[2]))\n"
    "if redis.call('GET', KEYS[1]) then\n"
    "  return {0, counter or 0, time, redis.call('PTTL', KEYS[1])}\n"
    "end\n" NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT;
constexpr std::string_view pttl_first = TIME
    "local found = redis.call('MGET', KEYS[3], KEYS[2])\n"
    "if found[1] ~= ARGV[6] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n"
    "local pttl = redis.call('PTTL', KEYS[1])\n"
    "if pttl ~= -2 then return {0, counter or 0, time, pttl} end\n" NOBODY_WAITS FENCE LIMIT COUNT
        LOCK GRANT;
constexpr std::string_view exists = TIME
    "local found = redis.call('MGET', KEYS[3], KEYS[2])\n"
    "if found[1] ~= ARGV[6] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n"
    "if redis.call('EXISTS', KEYS[1]) == 1 then\n"
    "  return {0, counter or 0, time, redis.call('PTTL', KEYS[1])}\n"
    "end\n" NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT;
constexpr std::string_view lock_first = TIME
    "local found = redis.call('MGET', KEYS[3], KEYS[2])\n"
    "if found[1] ~= ARGV[6] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n"
    "if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then\n"
    "  return {0, counter or 0, time, redis.call('PTTL', KEYS[1])}\n"
    "end\n" NOBODY_WAITS FENCE LIMIT COUNT GRANT;
constexpr std::string_view count_always = TIME
    "local found = redis.call('MGET', KEYS[3], KEYS[2])\n"
    "if found[1] ~= ARGV[6] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n" NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT;
constexpr std::string_view one_record = TIME
    "local value = redis.call('GET', KEYS[2])\n"
    "local counter\n"
    "if value and string.sub(value, 1, #ARGV[6]) == ARGV[6] then\n"
    "  counter = tonumber(string.sub(value, #ARGV[6] + 2))\n"
    "elseif redis.call('GET', KEYS[3]) ~= ARGV[6] then\n"
    "  return {-1, 0, time}\n"
    "end\n" NOBODY_WAITS FENCE LIMIT
    "redis.call('SET', KEYS[2], ARGV[6] .. ':' .. string.format('%.0f', fence), 'PX', "
    "ARGV[5])\n" LOCK GRANT;
constexpr std::string_view few_arguments = TIME
    "local key = 'quorumlock:fence:' .. KEYS[1]\n"
    "local found = redis.call('MGET', 'quorumlock:enrolment', key, KEYS[1])\n"
    "if found[1] ~= ARGV[5] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n"
    "if found[3] then return {0, counter or 0, time, redis.call('PTTL', KEYS[1])} "
    "end\n" NOBODY_WAITS
    "local fence = math.max((counter or time - 1296000000000) + 1, ARGV[3] + 1, ARGV[6] + 1,\n"
    "  math.min(tonumber(ARGV[4]), time + 60000000))\n" LIMIT
    "redis.call('SET', key, string.format('%.0f', fence), 'PX', '2592000000')\n" LOCK GRANT;
constexpr std::string_view number_as_it_is = TIME LOOK NOBODY_WAITS FENCE LIMIT
    "redis.call('SET', KEYS[2], fence, 'PX', ARGV[5])\n" LOCK GRANT;
constexpr std::string_view always_formatted = TIME LOOK NOBODY_WAITS FENCE LIMIT
    "redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[5])\n" LOCK GRANT;
constexpr std::string_view empty_range =
    TIME LOOK LINE("redis.call('ZRANGE', line, 0, 0)[1]") FENCE LIMIT COUNT LOCK GRANT;
#define LOCALS "local call, keys, args = redis.call, KEYS, ARGV\n"
#define TUNED_LOOK                                          \
  LOCALS                                                    \
  "local now = call('TIME')\n"                              \
  "local time = now[1] * 1000000 + now[2]\n"                \
  "local found = call('MGET', keys[3], keys[2], keys[1])\n" \
  "if found[1] ~= args[6] then return {-1, 0, time} end\n"  \
  "local counter = tonumber(found[2])\n"                    \
  "if found[3] then return {0, counter or 0, time, call('PTTL', keys[1])} end\n" NOBODY_WAITS
#define TUNED_LOCK                                                   \
  "if not call('SET', keys[1], args[1], 'NX', 'PX', args[2]) then\n" \
  "  return {0, fence, time, call('PTTL', keys[1])}\n"               \
  "end\n" GRANT
constexpr std::string_view locals = TUNED_LOOK
    "local fence = math.max((counter or time - args[5] * 500) + 1, args[3] + 1, args[7] + 1,\n"
    "  math.min(tonumber(args[4]), time + 60000000))\n" LIMIT
    "call('SET', keys[2], string.format('%.0f', fence), 'PX', args[5])\n" TUNED_LOCK;
constexpr std::string_view tuned = TUNED_LOOK
    "local wall = tonumber(args[4])\n"
    "local fence, text = wall, args[4]\n"
    "local least = (counter or time - args[5] * 500) + 1\n"
    "if wall < least or wall <= args[3] + 0 or wall <= args[7] + 0 or wall > time + 60000000 then\n"
    "  fence = math.max(least, args[3] + 1, args[7] + 1, math.min(wall, time + 60000000))\n"
    "  text = string.format('%.0f', fence)\n"
    "end\n" LIMIT "call('SET', keys[2], text, 'PX', args[5])\n" TUNED_LOCK;

constexpr std::string_view few_tuned = LOCALS
    "local lock, token, now = keys[1], args[1], call('TIME')\n"
    "local time = now[1] * 1000000 + now[2]\n"
    "local count = 'quorumlock:fence:' .. lock\n"
    "local found = call('MGET', 'quorumlock:enrolment', count, lock)\n"
    "if found[1] ~= args[5] then return {-1, 0, time} end\n"
    "local counter = tonumber(found[2])\n"
    "if found[3] then return {0, counter or 0, time, call('PTTL', lock)} end\n" NOBODY_WAITS
    "local text = args[4]\n"
    "local wall = tonumber(text)\n"
    "local fence = wall\n"
    "local least = (counter or time - 1296000000000) + 1\n"
    "if wall < least or wall <= args[3] + 0 or wall <= args[6] + 0 or wall > time + 60000000 then\n"
    "  fence = math.max(least, args[3] + 1, args[6] + 1, math.min(wall, time + 60000000))\n"
    "  text = string.format('%.0f', fence)\n"
    "end\n" LIMIT
    "call('SET', count, text, 'PX', '2592000000')\n"
    "if not call('SET', lock, token, 'NX', 'PX', args[2]) then\n"
    "  return {0, fence, time, call('PTTL', lock)}\n"
    "end\n" GRANT;
constexpr std::string_view without_enrolment = TIME
    "local found = redis.call('MGET', KEYS[2], KEYS[1])\n"
    "local counter = tonumber(found[1])\n"
    "if found[2] then return {0, counter or 0, time, redis.call('PTTL', KEYS[1])} "
    "end\n" NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT;

#define LIBRARY(code) \
  "#!lua name=bench\nredis.register_function('acquire', function(KEYS, ARGV)\n" code "end)"
constexpr std::string_view library = LIBRARY(TIME LOOK NOBODY_WAITS FENCE LIMIT COUNT LOCK GRANT);
constexpr std::string_view compare_and_delete =
    "local call, key = redis.call, KEYS[1]\n"
    "if call('GET', key) == ARGV[1] then return call('DEL', key) end\n"
    "return 0";

}  // namespace

const std::vector<Form>& script_forms() {
  using redis::acquire_script;
  static constexpr std::string_view compares = redis::release_script.source;
  static constexpr std::string_view no_fence = "takes no counter: the plain lock";
  static constexpr std::string_view other_kind =
      "counts nothing where the key is another kind of value";
  static const std::vector<Form> forms{
      {"plain", plain_set, {}, release, compares, {}, no_fence},
      {"acquire.lua", full, acquire_script.source, release, compares, {}, {}},
      {"no script for the release",
       full,
       acquire_script.source,
       "DEL $lock",
       {},
       {},
       "deletes whosesoever it is"},
      {"compare and delete alone",
       full,
       acquire_script.source,
       release,
       compare_and_delete,
       {},
       "wakes nobody"},
      {"a script that does nothing", full, nothing, release, compares, {}, "takes nothing"},
      {"a script that reads TIME", full, only_time, release, compares, {}, "takes nothing"},
      {"without TIME",
       full,
       without_time,
       release,
       compares,
       {},
       "the node's clock is not known: no drift is seen, the client's wall clock is not bounded"},
      {"three GETs",
       full,
       three_gets,
       release,
       compares,
       {},
       "an error where the key is another kind of value"},
      {"PTTL of the lock first", full, pttl_first, release, compares, {}, other_kind},
      {"EXISTS of the lock", full, exists, release, compares, {}, other_kind},
      {"the lock first",
       full,
       lock_first,
       release,
       compares,
       {},
       "a script that fails half-way leaves a lock without a count"},
      {"counts when held, too",
       full,
       count_always,
       release,
       compares,
       {},
       "writes for every refusal"},
      {"record in the counter",
       full,
       one_record,
       release,
       compares,
       {},
       "an enrolment that was taken away still counts"},
      {"few arguments", few, few_arguments, release, compares, {}, "keys that were not declared"},
      {"the number as it is", full, number_as_it_is, release, compares, {}, {}},
      {"the number formatted always", full, always_formatted, release, compares, {}, {}},
      {"an empty range for the line", full, empty_range, release, compares, {}, {}},
      {"locals", full, locals, release, compares, {}, {}},
      {"locals, no maximum", full, tuned, release, compares, {}, {}},
      {"FCALL", as_function, {}, release, compares, library, {}},
      {"few arguments, locals, no maximum",
       few,
       few_tuned,
       release,
       compares,
       {},
       "keys that were not declared"},
      {"without the enrolment",
       full,
       without_enrolment,
       release,
       compares,
       {},
       "a node that forgot votes"},
      {"no script, as it is for one alone",
       "SET $lock $token NX PX 10000\nGET $enrolment\nEXISTS quorumlock:queue:nobody\nINCR "
       "$counter\n"
       "PEXPIRE $counter 2592000000\nTIME",
       {},
       release,
       compares,
       {},
       "others come in between; counts for a refusal too, and is then asked again with "
       "acquire.lua; "
       "the client compares the enrolment"},
      {"MULTI: SET NX, INCR",
       "MULTI\nSET $lock $token NX PX 10000\nINCR $counter\nEXEC",
       {},
       release,
       compares,
       {},
       "counts for a refusal too, from 0, for ever; asks no enrolment, no clock"},
      {"MULTI: GET, TIME, SET NX, ZADD GT",
       "MULTI\nGET $enrolment\nTIME\nSET $lock $token NX PX 10000\nZADD $counter GT CH $wall f\n"
       "PEXPIRE $counter 2592000000\nEXEC",
       {},
       release,
       compares,
       {},
       "takes the client's number or none, unbounded; counts for a refusal too; the client "
       "compares the "
       "enrolment, and has to take back what it set"},
  };
  return forms;
}

}  // namespace quorumlock::bench
