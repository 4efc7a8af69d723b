-- Makes this token a reader of a lock of this holder until its life ends, and keeps the lock for this many ms at
-- the least. The first command fails if this user may not set an expiry: no reader stays here for good.
local function join(lock, holder, token, ends, least)
  local readers = readers_of(lock)
  if holder ~= read_mark then redis.call('ZREMRANGEBYRANK', readers, 0, -1) end
  local rest = string.format('%.0f', math.max(redis.call('PTTL', lock), least))
  redis.call('PEXPIRE', readers, rest)
  redis.call('ZADD', readers, string.format('%.0f', ends), token)
  redis.call('PEXPIRE', readers, rest)
  if holder == read_mark then
    redis.call('PEXPIRE', lock, rest)
  else
    redis.call('SET', lock, read_mark, 'PX', rest)
  end
end
