-- Acquires a lock to read, together with other readers. While it is read, the lock is a sorted set of the
-- readers' tokens by the ms at which each one's life ends. The expiry of the set only grows, so SET NX finds
-- the key for as long as anybody reads.
--
--   KEYS     lock, counter, enrolment
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, counter's life ms (0: no fencing),
--            waiter (empty: not in the line), ticket, an entry's life ms, enrolment, floor
--   returns  {1, fence, time, 0}  granted
--            {0, counter, time, ms until this may change by itself, greatest ticket, holder}
--                                 a writer has the lock, with this token, or a writer that waits is before
--                                 this reader
--            {-1, 0, time}        not enrolled; nothing was touched
-- A waiter has an entry in the line afterwards, whether it was granted the lock or not.
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
-- A key without an expiry is not a lock.
if found[3] or ends or left == -1 then
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter, time, ends and ends - ms + 1 or left, tonumber(last[2]) or 0, found[3] or ''}
end
if ARGV[5] ~= '0' then
  --> count
end
redis.call('ZADD', KEYS[1], string.format('%.0f', ms + ARGV[2]), ARGV[1])
-- If this user may not call PEXPIRE, the token must not stay here for good.
local said = left < tonumber(ARGV[2]) and redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
if type(said) == 'table' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return said
end
-- This comes after ZADD: if no other reader were left, the set would be gone, and its expiry with it.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', ms))
--> mark
return {1, counter, time, 0}
