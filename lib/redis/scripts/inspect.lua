-- KEYS lock. ARGV how many readers, and as many waiters of each line, to tell of at most; the greatest
-- capacity of a semaphore. Changes nothing.
-- {time, kind of value, value, pttl, {reader, the end of its life in ms, ...}, {waiter, ticket, the
-- end of its entry's life in ms, ...}}: see acquire_ordered.lua for the line. Then of the semaphore
-- of this name: how many permits it has (0: unknown), {slot, owner token, pttl, ...} of those that
-- are held, and its line. What has outlived its life, and only nobody has taken away, is left out.
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
    -- Not who has been granted the lock, and waits no more (see acquire_ordered.lua).
    if ends and ends * 1000 >= time and ends % 1 == 0 then
      line[#line + 1] = found[i]
      line[#line + 1] = found[i + 1]
      line[#line + 1] = ends
    end
  end
  return line
end
local semaphore, keys, permits = 'quorumlock:semaphore:' .. KEYS[1], {}, {}
-- MGET and not GET: another kind of value is no error there. A number beyond the greatest is none of
-- ours, and no reason to look at so many keys.
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
  line_of(semaphore)}
