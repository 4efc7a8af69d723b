-- Deletes a permit of a semaphore, and wakes the head of the line if any slot is free.
--
--   KEYS     semaphore
--   ARGV     token, its slot, the waiter that leaves the line (empty: none), the waiter that need not be woken
--            (empty: none)
--   returns  as release.lua. The message to a waiter has the free slot after the waiter's number.
local name = string.sub(KEYS[1], 22)
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
local left, deleted, free = 0, 0, 0
if ARGV[3] ~= '' then
  left = redis.call('ZREM', line, ARGV[3])
  redis.call('ZREM', lives, ARGV[3])
end
local permit = 'quorumlock:permit:' .. ARGV[2] .. ':' .. name
if redis.call('GET', permit) == ARGV[1] then
  deleted = redis.call('DEL', permit)
  free = tonumber(ARGV[2])
elseif left == 1 then
  for i = 1, tonumber(redis.call('GET', KEYS[1])) or 1 do
    if redis.call('EXISTS', 'quorumlock:permit:' .. i .. ':' .. name) == 0 then
      free = i
      break
    end
  end
end
-- If nothing has changed, nobody is woken.
if free == 0 then return deleted end
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
local first = redis.call('ZRANGE', line, 0, 0)[1]
--> prune
if first and first ~= ARGV[4] then
  --> wake
  wake(first, free)
end
if not first or deleted == 0 then return deleted end
if first == ARGV[4] then return {1, 1, 0} end
return {1, 0, tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])}
