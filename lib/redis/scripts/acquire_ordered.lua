-- Acquires a lock for a waiter in its line, and puts the waiter into the line if it is not there.
--
--   KEYS     lock, counter, enrolment
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, counter's life ms (0: no fencing),
--            waiter, ticket, an entry's life ms, enrolment, floor
--   returns  {1, fence, time, next}  granted; the entry stays, marked. `next` is the number of the next
--                                    waiter if both are of one process, else 0.
--            {0, counter, time, ms until this may change by itself, greatest ticket, holder}
--                                    the lock is taken, or another waiter is before this one; the
--                                    holder's token is empty if nobody or readers have the lock
--            {-1, 0, time}           not enrolled; nothing was touched
--
-- The line of a lock is two sorted sets of its waiters: by ticket, and by the ms at which each entry's life
-- ends. If that time has half a ms, the entry is marked: its waiter was granted the lock here. The entry
-- stays, since the waiter may have to give the grant back and go on waiting; release.lua then takes the mark
-- away. If the lock is gone and the mark is still there, the entry is spent and blocks nobody.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[9] then return {-1, 0, time} end
local written = found[2]
--> counter
counter = counter or 0
local waiter, ticket, life = ARGV[6], ARGV[7], ARGV[8]
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
--> front
local first, ends = front()
if first[1] ~= waiter and not redis.call('ZSCORE', line, waiter) then
  --> enter
  first, ends = front()
end
local function refused()
  local due = redis.call('PTTL', KEYS[1])
  if due == -2 and ends then due = math.floor(ends - time / 1000) + 1 end
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter, time, due, tonumber(last[2]) or 0, found[3] or ''}
end
if found[3] or first[1] ~= waiter then return refused() end
if ARGV[5] ~= '0' then
  --> count
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  -- Readers have the lock. Those whose lives are over do not count (acquire_shared.lua).
  if redis.call('PTTL', KEYS[1]) == -1 then return refused() end
  redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', math.floor(time / 1000)))
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return refused() end
end
if ends % 1 == 0 then redis.call('ZADD', lives, ends .. '.5', waiter) end
local next = first[2] or ''
if string.sub(next, 2, 18) ~= string.sub(waiter, 2, 18) then return {1, counter, time, 0} end
return {1, counter, time, tonumber(string.match(next, '%d*', 19)) or 0}
