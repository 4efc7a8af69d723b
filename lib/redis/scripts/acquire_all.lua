-- Acquires several locks as one: all of them, or none.
--
--   KEYS     locks, their counters in the same order, enrolment
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, counters' life ms (0: no fencing),
--            waiter (empty: not in any line), ticket, an entry's life ms, "w" to write or "r" to read,
--            enrolment, floor
--   returns  {1, fence, time, 0}  granted, with one fence greater than all counters. The entries stay,
--                                 marked, and are spent once a lock is gone (acquire_ordered.lua).
--            {0, greatest counter, time, ms until this may change by itself, greatest ticket, holder}
--                                 refused; the waiter has an entry in every line. The holder is the token
--                                 of the first lock that one client holds, empty if there is none
--            {-1, 0, time}        not enrolled; nothing was touched
-- For a reader, a lock that others read is free, and only writers are before it (acquire_shared.lua).
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local n = (#KEYS - 1) / 2
local counters = redis.call('MGET', unpack(KEYS, n + 1))
if counters[n + 1] ~= ARGV[10] then return {-1, 0, time} end
local waiter, ticket, life, reads = ARGV[6], ARGV[7], ARGV[8], ARGV[9] == 'r'
local function front(line, lives, lock)
  while true do
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    if not first then return '' end
    local ends = redis.call('ZSCORE', lives, first)
    local spent = ends and ends % 1 ~= 0 and first ~= waiter and redis.call('EXISTS', lock) == 0
    if ends and ends * 1000 >= time and not spent then return first, ends end
    redis.call('ZREM', line, first)
    redis.call('ZREM', lives, first)
  end
end
--> writer_before
local granted, fence, last, due, greatest, holder = true, 0, 0, -2, 0, nil
for i = 1, n do
  local written = counters[i]
  --> counter
  fence = math.max(fence, counter or 0)
  -- An absent counter has not been written for its whole life, by this node's own clock.
  last = math.max(last, counter or time - ARGV[5] * 500)
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local first, ends = front(line, lives, KEYS[i])
  if waiter ~= '' and first ~= waiter and not redis.call('ZSCORE', line, waiter) then
    --> enter
    first, ends = front(line, lives, KEYS[i])
  end
  if reads then
    ends = writer_before(line, lives, KEYS[i], time / 1000)
  elseif first == waiter then
    ends = nil
  end
  local left = redis.call('PTTL', KEYS[i])
  local shared = left > 0 and redis.call('TYPE', KEYS[i]).ok == 'zset'
  if shared then
    -- Readers whose lives are over do not count.
    redis.pcall('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('(%.0f', math.floor(time / 1000)))
    left = redis.call('PTTL', KEYS[i])
  end
  local free = left == -2 or (shared and reads)
  if ends or not free then
    granted = false
    due = math.max(due, free and math.floor(ends - time / 1000) + 1 or left)
    holder = holder or not free and redis.call('MGET', KEYS[i])[1]
  end
  greatest = math.max(greatest, redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or 0)
end
if not granted then return {0, fence, time, due, greatest, holder or ''} end
if ARGV[5] ~= '0' then
  fence = math.max(last + 1, ARGV[3] + 1, ARGV[11] + 1,
    math.min(tonumber(ARGV[4]), time + 60000000))
  --> cap
  -- The counters are written first, because a script that fails half-way is not undone.
  for i = 1, n do
    redis.call('SET', KEYS[n + i], string.format('%.0f', fence), 'PX', ARGV[5])
  end
end
for i = 1, n do
  if not reads then
    redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
  else
    local ends = math.floor(time / 1000) + ARGV[2]
    redis.call('ZADD', KEYS[i], string.format('%.0f', ends), ARGV[1])
    -- See acquire_shared.lua for the reason of this pcall.
    local said = redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) and
      redis.pcall('PEXPIRE', KEYS[i], ARGV[2])
    if type(said) == 'table' then
      redis.call('ZREM', KEYS[i], ARGV[1])
      return said
    end
  end
  local lives = 'quorumlock:waiting:' .. KEYS[i]
  --> mark
end
return {1, fence, time, 0}
