-- Releases a lock by its token, for a caller that is not its holder. Works for a writer and for a reader.
--
--   KEYS     lock
--   ARGV     token, max_ttl ms
--   returns  1  deleted; the holder's renewals will not re-plant the lock
--            0  nothing of this token is there
local holder = redis.pcall('GET', KEYS[1])
local readers = type(holder) == 'table'
if readers then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  -- This fails if the key holds another kind of value.
  if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
elseif holder ~= ARGV[1] then
  return 0
end
redis.call('SET', 'quorumlock:released:' .. ARGV[1] .. ':' .. KEYS[1], '1', 'PX', ARGV[2])
if readers then
  redis.call('ZREM', KEYS[1], ARGV[1])
  if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
else
  redis.call('DEL', KEYS[1])
end
-- Wakes as release.lua does. The holder's entry goes with the lock (acquire_ordered.lua).
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
local entries = redis.call('ZRANGE', line, 0, -1)
local first = 1
--> wake
while entries[first] do
  local ends = redis.call('ZSCORE', lives, entries[first])
  if ends and ends % 1 == 0 and tonumber(ends) >= ms then break end
  redis.call('ZREM', line, entries[first])
  redis.call('ZREM', lives, entries[first])
  first = first + 1
end
for i = first, #entries do
  local writes = string.sub(entries[i], 1, 1) == 'w'
  if writes and i > first then break end
  wake(entries[i])
  if writes then break end
end
return 1
