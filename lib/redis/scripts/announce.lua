-- KEYS lock, record of the leader. ARGV token, fencing token, version, value, the record's life ms.
-- What the holder of the lock says of itself, which is believed for as long as it holds the lock. 1:
-- said, or a later version of it before; 0: the lock is not this token's. MGET and not GET: another
-- kind of value is no error there.
if redis.call('MGET', KEYS[1])[1] ~= ARGV[1] then return 0 end
local said = redis.call('HMGET', KEYS[2], 'token', 'version')
local version = said[1] == ARGV[1] and tonumber(said[2]) or 0
if version < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[2], 'token', ARGV[1], 'fence', ARGV[2], 'version', ARGV[3], 'value', ARGV[4])
  -- pcall: this user may not be allowed to publish, and observers look by themselves.
  redis.pcall('PUBLISH', 'quorumlock:led:' .. KEYS[1], '')
end
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
