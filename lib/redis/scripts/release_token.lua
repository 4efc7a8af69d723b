-- KEYS key. ARGV token, max_ttl ms. A release by somebody who is not the holder, a reader or a
-- writer. 1: deleted, and the holder's renewals will not re-plant it; 0: nothing of that token's
-- there.
local holder = redis.pcall('GET', KEYS[1])
local readers = type(holder) == 'table'
if readers then
  if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
  -- Another kind of value is an error here.
  if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
elseif holder ~= ARGV[1] then
  return 0
end
redis.call('SET', 'quorumlock:released:' .. ARGV[1], '1', 'PX', ARGV[2])
if readers then
  redis.call('ZREM', KEYS[1], ARGV[1])
  if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
else
  redis.call('DEL', KEYS[1])
end
-- As release.lua wakes. The holder's entry is first in the line for an entry's life at most: then
-- the others find out for themselves.
local entries = redis.call('ZRANGE', 'quorumlock:queue:' .. KEYS[1], 0, -1)
if #entries == 0 then redis.pcall('PUBLISH', 'quorumlock:free:' .. KEYS[1], '') end
for i, entry in ipairs(entries) do
  local writes = string.sub(entry, 1, 1) == 'w'
  if writes and i > 1 then break end
  redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(entry, 2, 17), string.sub(entry, 19))
  if writes then break end
end
return 1
