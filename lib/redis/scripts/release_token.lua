-- KEYS key. ARGV token, max_ttl ms. A release by somebody who is not the holder. 1: deleted, and the
-- holder's renewals will not re-plant it; 0: nothing of that token's there.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', 'quorumlock:released:' .. ARGV[1], '1', 'PX', ARGV[2])
return redis.call('DEL', KEYS[1])
