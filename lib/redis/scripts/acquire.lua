-- KEYS lock, counter, enrolment. ARGV token, ttl ms, greatest fence seen, client's wall clock us,
-- counter's life ms, enrolment, floor.
-- {1, fence, time}: ours; {0, counter, time, pttl}: another's, or others wait for it in a line
-- (see acquire_ordered.lua); {-1, 0, time}: not enrolled, nothing touched. MGET and not GET:
-- another kind of value is no error there, and SET NX then refuses: readers, as a rule (see
-- acquire_shared.lua), of whom those whose time is over don't count.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[6] then return {-1, 0, time} end
local counter = tonumber(found[2])
if found[3] then return {0, counter or 0, time, redis.call('PTTL', KEYS[1])} end
-- As a rule nobody waits, and EXISTS says that for less than a range that is empty.
local line = 'quorumlock:queue:' .. KEYS[1]
while redis.call('EXISTS', line) == 1 do
  local lives = 'quorumlock:waiting:' .. KEYS[1]
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  local ends = redis.call('ZSCORE', lives, first)
  if ends and ends * 1000 >= time then
    return {0, counter or 0, time, redis.call('PTTL', KEYS[1])}
  end
  redis.call('ZREM', line, first)
  redis.call('ZREM', lives, first)
end
-- A counter that is not there has lived its life since its last write, on this node's own clock.
local wall = tonumber(ARGV[4])
local fence = math.max(math.max(counter or time - ARGV[5] * 500, ARGV[3], ARGV[7]) + 1,
  math.min(wall, time + 60000000))
if fence >= 9007199254740992 then
  return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
end
-- The counter first: a script that fails half-way is not undone.
redis.call('SET', KEYS[2], fence == wall and ARGV[4] or string.format('%.0f', fence), 'PX', ARGV[5])
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  local left = redis.call('PTTL', KEYS[1])
  if left == -1 then return {0, fence, time, left} end
  redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', math.floor(time / 1000)))
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {0, fence, time, left}
  end
end
return {1, fence, time}
