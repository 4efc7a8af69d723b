-- The line of a lock is two sorted sets of its waiters: by ticket, and by the ms at which each entry's life ends.
-- A hash has the token by which a waiter was granted the lock here. Its entry stays, since the waiter may have to
-- give the grant back and go on waiting, and is spent once the token does not have the lock any more.
local function line_of(lock) return 'quorumlock:queue:' .. lock end
local function lives_of(lock) return 'quorumlock:waiting:' .. lock end
local function grants_of(lock) return 'quorumlock:granted:' .. lock end
local function leave(lock, ...)
  local left = redis.call('ZREM', line_of(lock), ...)
  redis.call('ZREM', lives_of(lock), ...)
  redis.call('HDEL', grants_of(lock), ...)
  return left
end
