-- KEYS locks, their counters in the same order, enrolment. ARGV as of renew.lua: token, ttl ms,
-- fence (0: none), re-plant what is gone (1 or 0), counter's life ms, enrolment, floor.
-- {1, greatest counter, time}: all are ours, for at least ttl now; {2, ...}: likewise, and some were
-- re-planted; {0, ...}: one is another's; {3, ...}: one is gone, or released by token; {-1, 0, time}: not
-- enrolled. Nothing is touched but for {1, ...} and {2, ...}, and no expiry is shortened.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local n = (#KEYS - 1) / 2
local found = redis.call('MGET', unpack(KEYS))
if found[#KEYS] ~= ARGV[6] then return {-1, 0, time} end
local greatest, gone, another = 0, 0, false
for i = 1, n do
  greatest = math.max(greatest, tonumber(found[n + i]) or 0)
  if not found[i] then gone = gone + 1 else another = another or found[i] ~= ARGV[1] end
end
if another then return {0, greatest, time} end
if gone > 0 then
  -- Another kind of value reads as absent.
  if redis.call('EXISTS', unpack(KEYS, 1, n)) > n - gone then return {0, greatest, time} end
  if ARGV[4] ~= '1' or redis.call('EXISTS', 'quorumlock:released:' .. ARGV[1]) == 1 then
    return {3, greatest, time}
  end
  for i = 1, n do
    if (tonumber(found[n + i]) or 0) < tonumber(ARGV[3]) then
      redis.call('SET', KEYS[n + i], ARGV[3], 'PX', ARGV[5])
    end
  end
  greatest = math.max(greatest, ARGV[3])
end
for i = 1, n do
  if not found[i] then
    redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
  elseif redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return {gone > 0 and 2 or 1, greatest, time}
