-- KEYS lock, counter, enrolment. ARGV token, ttl ms, greatest fence seen, client's wall clock us,
-- counter's life ms (0: no fencing), waiter (empty: not in the line), ticket, an entry's life ms,
-- enrolment, floor.
-- To read, together with other readers: the lock is then a sorted set of their tokens, by the end
-- of each one's life in ms. Its own expiry only grows, so that SET NX sees it for as long as
-- anybody reads.
-- No writer has it, and none waits before us: {1, fence, time, 0}. Else {0, counter, time, ms until
-- that may change by itself, greatest ticket}; a waiter is in the line either way. {-1, 0, time}:
-- not enrolled, nothing touched.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local ms = math.floor(time / 1000)
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[9] then return {-1, 0, time} end
local counter = tonumber(found[2]) or 0
local waiter = ARGV[6]
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
if waiter ~= '' and not redis.call('ZSCORE', line, waiter) then
  redis.call('ZADD', line, ARGV[7], waiter)
  redis.call('ZADD', lives, string.format('%.0f', ms + ARGV[8]), waiter)
  for _, key in ipairs({line, lives}) do
    if redis.call('PTTL', key) < 2 * ARGV[8] then redis.call('PEXPIRE', key, 2 * ARGV[8]) end
  end
end
-- Until when the entry of a writer before us lives.
local function writer_before()
  local at = 0
  while true do
    local entries = redis.call('ZRANGE', line, at, at + 99)
    for _, entry in ipairs(entries) do
      if entry == waiter then return nil end
      if string.sub(entry, 1, 1) == 'w' then
        local ends = tonumber(redis.call('ZSCORE', lives, entry) or 0)
        if ends >= ms then return ends end
      end
    end
    if #entries < 100 then return nil end
    at = at + 100
  end
end
local left = redis.call('PTTL', KEYS[1])
local ends = not found[3] and writer_before()
-- What never expires is nothing of a lock's.
if found[3] or ends or left == -1 then
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter, time, ends and ends - ms + 1 or left, tonumber(last[2]) or 0}
end
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
redis.call('ZADD', KEYS[1], string.format('%.0f', ms + ARGV[2]), ARGV[1])
-- pcall: this user may not be allowed to say when it ends, and must not leave it here for good.
local said = left < tonumber(ARGV[2]) and redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(said) == 'table' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return said
end
-- Behind ZADD, or it would be gone with its expiry where nobody else is left.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', ms))
return {1, counter, time, 0}
