-- Renews several locks that are held as one, to write or to read: all of them, or none. No expiry is shortened.
--
--   KEYS     locks, their counters in the same order, enrolment
--   ARGV     token, ttl ms, fence (0: none), re-plant locks that are gone (1 or 0), counters' life ms, "w" to
--            write or "r" to read, this node's time us from which on this is too late (0: unknown), enrolment,
--            floor
--   returns  {1, greatest counter, time}    all are this token's, for at least ttl from now
--            {2, greatest counter, time}    the same, and some of them were re-planted
--            {0, greatest counter, time}    one is another's
--            {3, greatest counter, time}    one is gone, or released by its token
--            {4, 0, time}                   too late, or a lock is gone and this may be too late
--            {-1, 0, time}                  not enrolled
-- Only 1 and 2 have touched anything. A reader's locks are as in renew_shared.lua: a lock that a writer had
-- becomes its first reader's.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local ms = math.floor(time / 1000)
local n = (#KEYS - 1) / 2
local found = redis.call('MGET', unpack(KEYS))
if found[#KEYS] ~= ARGV[8] then return {-1, 0, time} end
local ttl, reads, over = tonumber(ARGV[2]), ARGV[6] == 'r', tonumber(ARGV[7])
if over > 0 and time >= over then return {4, 0, time} end
local greatest, gone, another, ends = 0, 0, false, {}
for i = 1, n do
  local written = found[n + i]
  --> counter
  greatest = math.max(greatest, counter or 0)
  if found[i] then
    another = another or found[i] ~= ARGV[1]
  else
    -- MGET returns nothing for another kind of value.
    local kind = redis.call('TYPE', KEYS[i]).ok
    if reads and kind == 'zset' and redis.call('PTTL', KEYS[i]) ~= -1 then
      ends[i] = tonumber(redis.call('ZSCORE', KEYS[i], ARGV[1]) or 0)
      if ends[i] < ms then ends[i] = nil end
    else
      another = another or kind ~= 'none'
    end
    if not ends[i] then gone = gone + 1 end
  end
end
if another then return {0, greatest, time} end
if gone > 0 then
  if ARGV[4] ~= '1' then return {3, greatest, time} end
  for i = 1, n do
    if redis.call('EXISTS', 'quorumlock:released:' .. ARGV[1] .. ':' .. KEYS[i]) == 1 then
      return {3, greatest, time}
    end
  end
  if over == 0 then return {4, 0, time} end
  for i = 1, n do
    local counted, fence = tonumber(found[n + i]) or 0, tonumber(ARGV[3])
    if not reads and not found[i] and math.max(counted, ARGV[9]) > fence then
      -- For the mark see renew.lua.
      redis.call('SET', 'quorumlock:replanted:' .. KEYS[i], ARGV[1], 'PX', ARGV[5])
    end
    if counted < fence then redis.call('SET', KEYS[n + i], ARGV[3], 'PX', ARGV[5]) end
  end
  greatest = math.max(greatest, ARGV[3])
end
--> wake
local woken = {}
for i = 1, n do
  local left = redis.call('PTTL', KEYS[i])
  if not reads and not found[i] then
    redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
  elseif reads and found[i] then
    local rest = math.max(left, ttl)
    local half = redis.call('GET', 'quorumlock:replanted:' .. KEYS[i]) == ARGV[1] and 0.5 or 0
    redis.call('DEL', KEYS[i])
    redis.call('ZADD', KEYS[i], string.format('%.1f', ms + rest + half), ARGV[1])
    redis.call('PEXPIRE', KEYS[i], string.format('%.0f', rest))
    for _, entry in ipairs(redis.call('ZRANGE', 'quorumlock:queue:' .. KEYS[i], 0, -1)) do
      if string.sub(entry, 1, 1) == 'w' then break end
      if not woken[entry] then
        woken[entry] = true
        wake(entry)
      end
    end
  else
    if reads and (ends[i] or 0) < ms + ttl then
      -- The life of a re-planted reader ends in half a ms.
      local half = ends[i] and ends[i] % 1 or 0.5
      redis.call('ZADD', KEYS[i], string.format('%.1f', ms + ttl + half), ARGV[1])
    end
    if left < ttl then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
  end
end
return {gone > 0 and 2 or 1, greatest, time}
