-- KEYS locks, their counters in the same order, enrolment. ARGV as of acquire_ordered.lua: token, ttl
-- ms, greatest fence seen, client's wall clock us, counter's life ms (0: no fencing), waiter (empty:
-- in no line), ticket, an entry's life ms; w to write, r to read; enrolment, floor.
-- All locks or none. All free, and nobody before the waiter in any of their lines: {1, fence, time,
-- 0}, one fence beyond all the counters, and the entries stay. Else {0, greatest counter, time, ms
-- until that may change by itself, greatest ticket}, and the waiter is in all the lines. {-1, 0,
-- time}: not enrolled, nothing touched. For a reader what others read is free, and only writers are
-- before it (see acquire_shared.lua).
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local n = (#KEYS - 1) / 2
local counters = redis.call('MGET', unpack(KEYS, n + 1))
if counters[n + 1] ~= ARGV[10] then return {-1, 0, time} end
local waiter, reads = ARGV[6], ARGV[9] == 'r'
local function front(line, lives)
  while true do
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    if not first then return '' end
    local ends = redis.call('ZSCORE', lives, first)
    if ends and ends * 1000 >= time then return first, ends end
    redis.call('ZREM', line, first)
    redis.call('ZREM', lives, first)
  end
end
-- Until when the first writer's entry lives that is before the waiter.
local function writer_before(line, lives)
  local at = 0
  while true do
    local entries = redis.call('ZRANGE', line, at, at + 99)
    for _, entry in ipairs(entries) do
      if entry == waiter then return nil end
      if string.sub(entry, 1, 1) == 'w' then
        local ends = redis.call('ZSCORE', lives, entry)
        if ends and ends * 1000 >= time then return ends end
      end
    end
    if #entries < 100 then return nil end
    at = at + 100
  end
end
local granted, fence, last, due, greatest = true, 0, 0, -2, 0
for i = 1, n do
  local counter = tonumber(counters[i])
  fence = math.max(fence, counter or 0)
  -- A counter that is not there has lived its life since its last write, on this node's own clock.
  last = math.max(last, counter or time - ARGV[5] * 500)
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local first, ends = front(line, lives)
  if waiter ~= '' and first ~= waiter and not redis.call('ZSCORE', line, waiter) then
    redis.call('ZADD', line, ARGV[7], waiter)
    redis.call('ZADD', lives, string.format('%.0f', math.floor(time / 1000) + ARGV[8]), waiter)
    for _, key in ipairs({line, lives}) do
      if redis.call('PTTL', key) < 2 * ARGV[8] then redis.call('PEXPIRE', key, 2 * ARGV[8]) end
    end
    first, ends = front(line, lives)
  end
  if reads then ends = writer_before(line, lives) elseif first == waiter then ends = nil end
  local left = redis.call('PTTL', KEYS[i])
  local shared = left > 0 and redis.call('TYPE', KEYS[i]).ok == 'zset'
  if shared then
    -- Of those who read it the ones whose time is over don't count.
    redis.pcall('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('(%.0f', math.floor(time / 1000)))
    left = redis.call('PTTL', KEYS[i])
  end
  local free = left == -2 or (shared and reads)
  if ends or not free then
    granted = false
    due = math.max(due, free and math.floor(ends - time / 1000) + 1 or left)
  end
  greatest = math.max(greatest, redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or 0)
end
if not granted then return {0, fence, time, due, greatest} end
if ARGV[5] ~= '0' then
  fence = math.max(last + 1, ARGV[3] + 1, ARGV[11] + 1,
    math.min(tonumber(ARGV[4]), time + 60000000))
  if fence >= 9007199254740992 then
    return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
  end
  -- The counters first: a script that fails half-way is not undone.
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
    -- pcall: see acquire_shared.lua.
    local said = redis.call('PTTL', KEYS[i]) < tonumber(ARGV[2]) and
      redis.pcall('PEXPIRE', KEYS[i], ARGV[2])
    if type(said) == 'table' then
      redis.call('ZREM', KEYS[i], ARGV[1])
      return said
    end
  end
end
return {1, fence, time, 0}
