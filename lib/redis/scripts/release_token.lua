-- KEYS key. ARGV token, max_ttl ms. A release by somebody who is not the holder. 1: deleted, and the
-- holder's renewals will not re-plant it; 0: nothing of that token's there.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', 'quorumlock:released:' .. ARGV[1], '1', 'PX', ARGV[2])
redis.call('DEL', KEYS[1])
-- As release.lua wakes. The holder's entry is first in the line for an entry's life at most: then
-- the others find out for themselves.
local first = redis.call('ZRANGE', 'quorumlock:queue:' .. KEYS[1], 0, 0)[1]
if first then
  redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(first, 2, 17), string.sub(first, 19))
else
  redis.pcall('PUBLISH', 'quorumlock:free:' .. KEYS[1], '')
end
return 1
