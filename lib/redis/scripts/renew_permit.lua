-- Renews a permit of a semaphore. The number of slots is kept for as long as a permit is held.
--
--   KEYS     slot, counter, enrolment, semaphore
--   ARGV     token, ttl ms, fence (0: none), re-plant the permit if it is gone (1 or 0), counter's life ms,
--            capacity, this node's time us from which on this is too late (0: unknown), enrolment, floor
--   returns  {1, counter, time}  this token has the permit, for at least ttl from now
--            {2, counter, time}  re-planted
--            {0, counter, time}  another token has the slot, or the node has forgotten the semaphore and gives
--                                permits of another number of slots by now
--            {3, counter, time}  gone
--            {4, 0, time}        too late, or the permit is gone and this may be too late; nothing was touched
--            {-1, 0, time}       not enrolled; nothing was touched
-- A re-planted permit leaves no mark, because nobody extends a permit by its token.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1], KEYS[4])
if found[1] ~= ARGV[8] then return {-1, 0, time} end
local over = tonumber(ARGV[7])
if over > 0 and time >= over then return {4, 0, time} end
local written = found[2]
--> counter
counter = counter or 0
if found[3] == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  redis.call('SET', KEYS[4], ARGV[6], 'PX', ARGV[5])
  return {1, counter, time}
end
if redis.call('EXISTS', KEYS[1]) == 1 then return {0, counter, time} end
if ARGV[4] ~= '1' then return {3, counter, time} end
if over == 0 then return {4, 0, time} end
local recorded = tonumber(found[4])
if recorded and recorded ~= tonumber(ARGV[6]) then
  for i = 1, recorded do
    local permit = 'quorumlock:permit:' .. i .. ':' .. string.sub(KEYS[4], 22)
    if redis.call('EXISTS', permit) == 1 then return {0, counter, time} end
  end
end
if counter < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[5])
  counter = tonumber(ARGV[3])
end
redis.call('SET', KEYS[4], ARGV[6], 'PX', ARGV[5])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {2, counter, time}
