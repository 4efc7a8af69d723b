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
local written = found[2]
--> counter
counter = counter or 0
local waiter, ticket, life = ARGV[6], ARGV[7], ARGV[8]
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
if waiter ~= '' and not redis.call('ZSCORE', line, waiter) then
  --> enter
end
--> writer_before
local left = redis.call('PTTL', KEYS[1])
local ends = not found[3] and writer_before(line, lives, KEYS[1], ms)
-- What never expires is nothing of a lock's.
if found[3] or ends or left == -1 then
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter, time, ends and ends - ms + 1 or left, tonumber(last[2]) or 0}
end
if ARGV[5] ~= '0' then
  --> count
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
--> mark
return {1, counter, time, 0}
