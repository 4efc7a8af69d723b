-- KEYS lock, counter, enrolment. ARGV token, ttl ms, fence (0: none), re-plant where it is gone
-- (1 or 0), counter's life ms, enrolment, floor.
-- {1, counter, time}: ours, for at least ttl now; {2, counter, time}: re-planted; {0, ...}:
-- another's; {3, ...}: gone, or released by token; {-1, 0, time}: not enrolled, nothing touched. Never shortens: a slow
-- answer must not end what a later round has promised.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[6] then return {-1, 0, time} end
local counter = tonumber(found[2]) or 0
if found[3] == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {1, counter, time}
end
if found[3] then return {0, counter, time} end
if ARGV[4] ~= '1' or redis.call('EXISTS', 'quorumlock:released:' .. ARGV[1]) == 1 then
  -- Another kind of value reads as absent.
  return {redis.call('EXISTS', KEYS[1]) == 1 and 0 or 3, counter, time}
end
if counter < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[5])
  counter = tonumber(ARGV[3])
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {0, counter, time} end
return {2, counter, time}
