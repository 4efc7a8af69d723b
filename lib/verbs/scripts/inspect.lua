-- Describes a lock, its line, and the semaphore of the same name. Changes nothing.
--
--   KEYS     lock
--   ARGV     how many readers, and how many waiters of each line, to return at most; greatest capacity of a
--            semaphore
--   returns  {time, kind of value, holder, pttl, readers, line, capacity, permits, line of the semaphore,
--            fencing counter of the lock}
--            kind      "readers" if readers have the lock, else the kind of value under its key
--            holder    as in part/describe.lua
--            readers   {token, ms at which its life ends, ...}
--            line      {waiter, ticket, ms at which its entry's life ends, ...} (part/line.lua)
--            capacity  of the semaphore; 0 if it is unknown
--            permits   {slot, holder, pttl, ...}, those that are held
-- Entries whose lives are over are left out, even if nobody has removed them yet, and so is what is too long to be
-- ours.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
--> read_mark
--> describe
local function read(key, command, ...)
  -- Another kind of value under a key of ours is another program's.
  local found = redis.pcall(command, key, ...)
  return found.err and {} or found
end
local kind, holder, readers = redis.call('TYPE', KEYS[1]).ok, '', {}
if kind == 'string' then holder = redis.call('GETRANGE', KEYS[1], 0, 127) end
if holder == read_mark then
  kind = 'readers'
  local found = read(readers_of(KEYS[1]), 'ZRANGE', 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if found[i + 1] * 1000 >= time and #found[i] <= 128 then
      readers[#readers + 1] = found[i]
      readers[#readers + 1] = found[i + 1]
    end
  end
end
if kind ~= 'none' then holder = describe(KEYS[1], (kind == 'string' or kind == 'readers') and holder) end
local function line_of(key)
  local line = {}
  local found = read('quorumlock:queue:' .. key, 'ZRANGE', 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. key, found[i])
    -- A waiter that was granted the lock is not waiting any more.
    local is_granted = redis.call('HGET', 'quorumlock:granted:' .. key, found[i])
    if ends and ends * 1000 >= time and not is_granted and #found[i] <= 128 then
      line[#line + 1] = found[i]
      line[#line + 1] = found[i + 1]
      line[#line + 1] = ends
    end
  end
  return line
end
local semaphore, permits = 'quorumlock:semaphore:' .. KEYS[1], {}
-- MGET is used instead of GET because it returns nothing for another kind of value. A capacity above the
-- greatest was not written by us, and we do not look at that many keys.
local capacity = tonumber(redis.call('MGET', semaphore)[1]) or 0
if capacity < 1 or capacity > tonumber(ARGV[2]) then capacity = 0 end
for slot = 1, capacity do
  local key = 'quorumlock:permit:' .. KEYS[1] .. ':' .. slot
  if redis.call('TYPE', key).ok == 'string' then
    permits[#permits + 1] = slot
    permits[#permits + 1] = describe(key, redis.call('GETRANGE', key, 0, 127))
    permits[#permits + 1] = redis.call('PTTL', key)
  end
end
local counter = redis.call('MGET', 'quorumlock:fence:' .. KEYS[1])[1] or ''
return {time, kind, holder, redis.call('PTTL', KEYS[1]), readers, line_of(KEYS[1]), capacity, permits,
  line_of(semaphore), #counter <= 16 and counter or ''}
