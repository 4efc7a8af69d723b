-- KEYS lock. ARGV token, the waiter that leaves the line (optional, empty: none), one that need
-- not be woken (optional). 1: deleted; 2: likewise, and the one that is not woken is first in the
-- line; 3 or more: likewise, and another is; what it is more than 3 is the greatest ticket in the
-- line; 0: nothing of ours there. Where the lock is free now the first in the line is woken, or,
-- where nobody is in it, all who said that they want to know.
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
local left, deleted = 0, 0
if ARGV[2] and ARGV[2] ~= '' then
  left = redis.call('ZREM', line, ARGV[2])
  redis.call('ZREM', lives, ARGV[2])
end
-- After that: another kind of value under the key is an error here.
if redis.call('GET', KEYS[1]) == ARGV[1] then deleted = redis.call('DEL', KEYS[1]) end
-- Where nothing has changed nobody is woken.
if deleted + left == 0 or (deleted == 0 and redis.call('EXISTS', KEYS[1]) == 1) then
  return deleted
end
local first = redis.call('ZRANGE', line, 0, 0)[1]
if first then
  local now = redis.call('TIME')
  local ms = math.floor(now[1] * 1000 + now[2] / 1000)
  while first do
    local ends = redis.call('ZSCORE', lives, first)
    if ends and tonumber(ends) >= ms then break end
    redis.call('ZREM', line, first)
    redis.call('ZREM', lives, first)
    first = redis.call('ZRANGE', line, 0, 0)[1]
  end
end
-- pcall: this user may not be allowed to publish, and a release is done all the same.
if not first then
  redis.pcall('PUBLISH', 'quorumlock:free:' .. KEYS[1], '')
elseif first ~= ARGV[3] then
  redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(first, 2, 17), string.sub(first, 19))
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return deleted == 1 and 3 + last[2] or 0
else
  return 2 * deleted
end
return deleted
