-- Records what the holder of a lock announces about itself, and informs the observers. Observers
-- believe the record for as long as this token holds the lock.
--
--   KEYS     lock, record of the leader
--   ARGV     token, fencing token, version, value, the record's life ms
--   returns  1  recorded, or a later version of this token was recorded before
--            0  the lock is not this token's
-- MGET is used instead of GET because it returns nothing for another kind of value.
if redis.call('MGET', KEYS[1])[1] ~= ARGV[1] then return 0 end
local said = redis.call('HMGET', KEYS[2], 'token', 'version')
local version = said[1] == ARGV[1] and tonumber(said[2]) or 0
if version < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], 'token', ARGV[1], 'fence', ARGV[2], 'version', ARGV[3], 'value', ARGV[4])
  -- pcall is used because this user may not be allowed to publish. Observers also look by themselves.
  redis.pcall('PUBLISH', 'quorumlock:led:' .. KEYS[1], '')
end
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
