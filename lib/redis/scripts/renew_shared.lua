-- Renews a reader's lock, or extends the lock of any token. A writer's lock becomes its first reader's if the
-- reader itself renews it: it has been downgraded.
--
--   KEYS     lock, counter, enrolment
--   ARGV     token, ttl ms, fence (0: none), who renews (1: the reader itself; 0: anybody, by the token of a
--            writer), counter's life ms, this node's time us from which on this is too late (0:
--            unknown), enrolment, floor
--   returns  {1, counter, time}  the lock is this token's, for at least ttl from now
--            {2, counter, time}  re-planted
--            {0, counter, time}  another's
--            {3, counter, time}  gone, or released by its token
--            {4, 0, time}        too late, or the lock is gone and this may be too late; nothing was touched
--            {-1, 0, time}       not enrolled; nothing was touched
-- By token nothing is re-planted; a lock that was re-planted after another's hold, or that readers have, counts
-- as gone.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local ms = math.floor(time / 1000)
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[7] then return {-1, 0, time} end
local ttl, own, over = tonumber(ARGV[2]), ARGV[4] == '1', tonumber(ARGV[6])
if over > 0 and time >= over then return {4, 0, time} end
local written = found[2]
--> counter
counter = counter or 0
local left = redis.call('PTTL', KEYS[1])
local function last(longer)
  if longer then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
if found[3] == ARGV[1] then
  -- For the mark see renew.lua.
  local marked = redis.call('GET', 'quorumlock:replanted:' .. KEYS[1]) == ARGV[1]
  if own then
    local rest = math.max(left, ttl)
    redis.call('DEL', KEYS[1])
    redis.call('ZADD', KEYS[1], string.format('%.1f', ms + rest + (marked and 0.5 or 0)), ARGV[1])
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', rest))
    -- The readers after this one in the line may come in now.
    local line = 'quorumlock:queue:' .. KEYS[1]
    --> wake
    for _, entry in ipairs(redis.call('ZRANGE', line, 0, -1)) do
      if string.sub(entry, 1, 1) == 'w' then break end
      wake(entry)
    end
  elseif marked then
    return {3, counter, time}
  else
    last(left < ttl)
  end
  return {1, counter, time}
end
if found[3] or left == -1 then return {0, counter, time} end
-- This fails if the key holds another kind of value.
local ends = left ~= -2 and tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) or 0
if ends >= ms then
  -- The entry does not say under which counter it was made, so a late grant looks like the old hold.
  if not own then return {3, counter, time} end
  -- The life of a re-planted reader ends in half a ms.
  local half = ends - math.floor(ends)
  if ends < ms + ttl then
    redis.call('ZADD', KEYS[1], string.format('%.1f', ms + ttl + half), ARGV[1])
  end
  last(left < ttl)
  return {1, counter, time}
end
local released = 'quorumlock:released:' .. ARGV[1] .. ':' .. KEYS[1]
if not own or redis.call('EXISTS', released) == 1 then return {3, counter, time} end
if over == 0 then return {4, 0, time} end
if counter < tonumber(ARGV[3]) then
  redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[5])
  counter = tonumber(ARGV[3])
end
redis.call('ZADD', KEYS[1], string.format('%.1f', ms + ttl + 0.5), ARGV[1])
last(left < ttl)
return {2, counter, time}
