-- KEYS lock, record of the leader. ARGV token. 1: this token's record is gone, and observers know;
-- 0: there was none of it.
if redis.call('HGET', KEYS[2], 'token') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.pcall('PUBLISH', 'quorumlock:led:' .. KEYS[1], '')
return 1
