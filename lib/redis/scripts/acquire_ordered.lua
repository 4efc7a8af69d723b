-- For who is in the line, or enters it by this. KEYS lock, counter, enrolment. ARGV token, ttl ms,
-- greatest fence seen, client's wall clock us, counter's life ms (0: no fencing), waiter, ticket, an
-- entry's life ms, enrolment, floor.
-- The line: two sorted sets, of the waiters by ticket and by the end of their entries' lives in
-- ms. A half of a ms in the latter marks an entry that has been granted the lock here. It stays, since
-- its waiter may have to give the grant back and go on waiting (release.lua takes the mark away). It
-- is spent as soon as the lock is gone without that: then it blocks nobody any more.
-- Free, and nobody before the waiter: {1, fence, time, the number of the next one, 0 unless it is
-- of the same process}, and the entry stays, marked. Else {0, counter, time, ms until that may change by
-- itself, greatest ticket}, and the waiter is in the line. {-1, 0, time}: not enrolled, nothing
-- touched.
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
  return {0, counter, time, due, tonumber(last[2]) or 0}
end
if found[3] or first[1] ~= waiter then return refused() end
if ARGV[5] ~= '0' then
  --> count
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  -- Readers have it, of whom those whose time is over don't count (see acquire_shared.lua).
  if redis.call('PTTL', KEYS[1]) == -1 then return refused() end
  redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', math.floor(time / 1000)))
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return refused() end
end
if ends % 1 == 0 then redis.call('ZADD', lives, ends .. '.5', waiter) end
local next = first[2] or ''
if string.sub(next, 2, 18) ~= string.sub(waiter, 2, 18) then return {1, counter, time, 0} end
return {1, counter, time, tonumber(string.sub(next, 19)) or 0}
