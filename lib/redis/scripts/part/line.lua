-- The line of a lock is two sorted sets of its waiters: by ticket, and by the ms at which each entry's life ends.
-- A hash has the token by which a waiter was granted the lock here. Its entry stays, since the waiter may have to
-- give the grant back and go on waiting, and is spent once the token does not have the lock any more.
local function line_of(lock) return 'quorumlock:queue:' .. lock end
local function lives_of(lock) return 'quorumlock:waiting:' .. lock end
local function grants_of(lock) return 'quorumlock:granted:' .. lock end
local function is_spent(lock, holder, entry)
  local token = redis.call('HGET', grants_of(lock), entry)
  if not token or token == holder then return false end
  -- A writer that has become a reader waits no more.
  return holder ~= read_mark or string.sub(entry, 1, 1) == 'w' or
    not redis.call('ZSCORE', readers_of(lock), token)
end
local function leave(lock, ...)
  local left = redis.call('ZREM', line_of(lock), ...)
  redis.call('ZREM', lives_of(lock), ...)
  redis.call('HDEL', grants_of(lock), ...)
  return left
end
-- Removes entries whose lives are over, anywhere in the line: not all at once, since there may be many.
local function prune(lock)
  local over = redis.call('ZRANGEBYSCORE', lives_of(lock), '-inf', string.format('(%.0f', ms), 'LIMIT', 0, 64)
  if over[1] then leave(lock, unpack(over)) end
end
-- Returns the first entries of a line that count, and the ends of their lives: at most two, and none from `stop`
-- on. For a reader only writers count. Those of `asking` are not spent: they go on waiting.
local function front(lock, holder, reads, most, asking, stop)
  local line, lives = line_of(lock), lives_of(lock)
  local first, ends, at = {}, {}, 0
  while true do
    local size = reads and 100 or most
    local page = redis.call('ZRANGE', line, at, at + size - 1)
    for _, entry in ipairs(page) do
      if entry == stop then return first, ends end
      local life = (not reads or string.sub(entry, 1, 1) == 'w') and
        (tonumber(redis.call('ZSCORE', lives, entry) or 0))
      if not life then
        at = at + 1
      elseif life < ms or (not asking[entry] and is_spent(lock, holder, entry)) then
        leave(lock, entry)
      else
        at = at + 1
        first[#first + 1], ends[#ends + 1] = entry, life
        if #first == most then return first, ends end
      end
    end
    if #page < size then return first, ends end
  end
end
