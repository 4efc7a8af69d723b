-- Describes a lock, its line, and the semaphore of the same name. Changes nothing.
--
--   KEYS     lock
--   ARGV     how many readers, and how many waiters of each line, to return at most; greatest capacity of a
--            semaphore
--   returns  {time, kind of value, value, pttl, readers, line, capacity, permits, line of the semaphore,
--            fencing counter of the lock}
--            readers   {token, ms at which its life ends, ...}
--            line      {waiter, ticket, ms at which its entry's life ends, ...} (acquire_ordered.lua)
--            capacity  of the semaphore; 0 if it is unknown
--            permits   {slot, owner token, pttl, ...}, those that are held
-- Entries whose lives are over are left out, even if nobody has removed them yet.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local kind, value, readers = redis.call('TYPE', KEYS[1]).ok, '', {}
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 1023) end
if kind == 'zset' then
  local found = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if found[i + 1] * 1000 >= time then
      readers[#readers + 1] = found[i]
      readers[#readers + 1] = found[i + 1]
    end
  end
end
local function line_of(key)
  local line = {}
  local found = redis.call('ZRANGE', 'quorumlock:queue:' .. key, 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. key, found[i])
    -- A marked entry belongs to a waiter that was granted the lock (acquire_ordered.lua).
    if ends and ends * 1000 >= time and ends % 1 == 0 then
      line[#line + 1] = found[i]
      line[#line + 1] = found[i + 1]
      line[#line + 1] = ends
    end
  end
  return line
end
local semaphore, keys, permits = 'quorumlock:semaphore:' .. KEYS[1], {}, {}
-- MGET is used instead of GET because it returns nothing for another kind of value. A capacity above the
-- greatest was not written by us, and we do not look at that many keys.
local capacity = tonumber(redis.call('MGET', semaphore)[1]) or 0
if capacity < 1 or capacity > tonumber(ARGV[2]) then capacity = 0 end
for slot = 1, capacity do keys[slot] = 'quorumlock:permit:' .. slot .. ':' .. KEYS[1] end
local tokens = capacity > 0 and redis.call('MGET', unpack(keys)) or {}
for slot = 1, #keys do
  if tokens[slot] then
    permits[#permits + 1] = slot
    permits[#permits + 1] = tokens[slot]
    permits[#permits + 1] = redis.call('PTTL', keys[slot])
  end
end
return {time, kind, value, redis.call('PTTL', KEYS[1]), readers, line_of(KEYS[1]), capacity, permits,
  line_of(semaphore), redis.call('MGET', 'quorumlock:fence:' .. KEYS[1])[1] or ''}
