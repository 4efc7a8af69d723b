-- For who is in the line, or enters it by this. KEYS lock, counter, enrolment. ARGV token, ttl ms,
-- greatest fence seen, client's wall clock us, counter's life ms (0: no fencing), waiter, ticket, an
-- entry's life ms, enrolment, floor.
-- The line: two sorted sets, of the waiters by ticket and by the end of their entries' lives in
-- ms.
-- Free, and nobody before the waiter: {1, fence, time, the number of the next one, 0 unless it is
-- of the same process}, and the entry stays. Else {0, counter, time, ms until that may change by
-- itself, greatest ticket}, and the waiter is in the line. {-1, 0, time}: not enrolled, nothing
-- touched.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[9] then return {-1, 0, time} end
local counter = tonumber(found[2]) or 0
local waiter = ARGV[6]
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
local function front()
  while true do
    local found = redis.call('ZRANGE', line, 0, 1)
    if not found[1] then return found end
    local ends = redis.call('ZSCORE', lives, found[1])
    if ends and ends * 1000 >= time then return found, ends end
    redis.call('ZREM', line, found[1])
    redis.call('ZREM', lives, found[1])
  end
end
local first, ends = front()
if first[1] ~= waiter and not redis.call('ZSCORE', line, waiter) then
  redis.call('ZADD', line, ARGV[7], waiter)
  redis.call('ZADD', lives, string.format('%.0f', math.floor(time / 1000) + ARGV[8]), waiter)
  for _, key in ipairs({line, lives}) do
    if redis.call('PTTL', key) < 2 * ARGV[8] then redis.call('PEXPIRE', key, 2 * ARGV[8]) end
  end
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
  -- A counter that is not there has lived its life since its last write, on this node's own clock.
  counter = math.max((tonumber(found[2]) or time - ARGV[5] * 500) + 1, ARGV[3] + 1, ARGV[10] + 1,
    math.min(tonumber(ARGV[4]), time + 60000000))
  if counter >= 9007199254740992 then
    return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
  end
  -- The counter first: a script that fails half-way is not undone.
  redis.call('SET', KEYS[2], string.format('%.0f', counter), 'PX', ARGV[5])
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  -- Readers have it, of whom those whose time is over don't count (see acquire_shared.lua).
  if redis.call('PTTL', KEYS[1]) == -1 then return refused() end
  redis.pcall('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', math.floor(time / 1000)))
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return refused() end
end
local next = first[2] or ''
if string.sub(next, 2, 18) ~= string.sub(waiter, 2, 18) then return {1, counter, time, 0} end
return {1, counter, time, tonumber(string.sub(next, 19)) or 0}
