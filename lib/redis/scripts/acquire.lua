-- Acquires locks for callers that are not in the line: callers that do not wait, and the first attempt of
-- callers that would enter the line if refused.
--
-- One lock
--   KEYS     lock, counter, enrolment
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, counter's life ms (0: no fencing),
--            enrolment, floor
--   returns  {1, fence, time}    granted
--            {0, counter, time, ms until this may change by itself, greatest ticket, holder}
--                                another client has the lock, or waits for it in the line; the holder's
--                                token is empty if nobody or readers have the lock
--            {-1, 0, time}       not enrolled; nothing was touched
-- Several locks, one after the other
--   KEYS     enrolment
--   ARGV     ttl ms, wall clock us, counters' life ms, then for each lock its key, its token and the greatest
--            fence seen, then enrolment, floor
--   returns  {time, then four values for each lock}: as above without time and holder, or an error, 0, 0, 0;
--            if a lock was refused, a list of the holders' tokens comes last, one for each lock
--            {time}              not enrolled; nothing was touched
--   The locks are not among KEYS: the server would refuse the whole call for one key that this user may
--   not touch.
--
-- MGET is used instead of GET because it returns nothing for another kind of value, such as the sorted set
-- of readers (acquire_shared.lua). SET NX then fails, unless the lives of all readers are over.

-- `found` holds the values of the counter and of the lock, if they have been read; `alone` is true if the line
-- is known to be empty. The function uses no variable from outside, since Lua would create each of them anew
-- in every call of the script.
local function acquire(time, ttl, wall, life, floor, lock, counter_key, token, seen, found, alone)
  found = found or redis.call('MGET', counter_key, lock)
  local written = found[1]
  --> counter
  local line, ends = 'quorumlock:queue:' .. lock, nil
  -- The line is usually empty, and EXISTS costs less than a range that is empty.
  while not alone and redis.call('EXISTS', line) == 1 do
    local lives = 'quorumlock:waiting:' .. lock
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    ends = redis.call('ZSCORE', lives, first)
    -- A marked entry is spent if the lock is gone (acquire_ordered.lua).
    local spent = ends and ends % 1 ~= 0 and redis.call('EXISTS', lock) == 0
    if ends and ends * 1000 >= time and not spent then break end
    redis.call('ZREM', line, first)
    redis.call('ZREM', lives, first)
    ends = nil
  end
  if not found[2] and not ends then
    if life ~= '0' then
      -- An absent counter has not been written for its whole life, by this node's own clock.
      local client = tonumber(wall)
      local fence = math.max(math.max(counter or time - life * 500, seen, floor) + 1,
        math.min(client, time + 60000000))
      --> cap
      -- The counter is written first, because a script that fails half-way is not undone.
      redis.call('SET', counter_key, fence == client and wall or string.format('%.0f', fence),
        'PX', life)
      counter = fence
    end
    local granted = redis.call('SET', lock, token, 'NX', 'PX', ttl)
    if not granted and redis.call('PTTL', lock) ~= -1 then
      redis.pcall('ZREMRANGEBYSCORE', lock, '-inf', string.format('(%.0f', math.floor(time / 1000)))
      granted = redis.call('SET', lock, token, 'NX', 'PX', ttl)
    end
    if granted then return {1, counter or 0, time} end
  end
  local due = redis.call('PTTL', lock)
  if due == -2 and ends then due = math.floor(ends - time / 1000) + 1 end
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter or 0, time, due, tonumber(last[2]) or 0, found[2] or ''}
end

local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
if KEYS[3] then
  local found = redis.call('MGET', KEYS[2], KEYS[1], KEYS[3])
  if found[3] ~= ARGV[6] then return {-1, 0, time} end
  return acquire(time, ARGV[2], ARGV[4], ARGV[5], ARGV[7], KEYS[1], KEYS[2], ARGV[1], ARGV[3], found)
end
if redis.call('GET', KEYS[1]) ~= ARGV[#ARGV - 1] then return {time} end
local keys, lines, asked, said, holders, refused = {}, {}, {}, {time}, {}, false
for i = 4, #ARGV - 2, 3 do
  keys[#keys + 1] = 'quorumlock:fence:' .. ARGV[i]
  keys[#keys + 1] = ARGV[i]
  lines[#lines + 1] = 'quorumlock:queue:' .. ARGV[i]
end
-- These fail if this user may not touch one of the keys; then each lock reads its own.
local found = redis.pcall('MGET', unpack(keys))
local alone = redis.pcall('EXISTS', unpack(lines)) == 0
for i = 4, #ARGV - 2, 3 do
  local place = 2 * (i - 1) / 3
  -- If an earlier entry of this call named the same lock, the values may have changed since.
  local pair = not found.err and not asked[ARGV[i]] and {found[place - 1], found[place]} or nil
  asked[ARGV[i]] = true
  local done, what = pcall(acquire, time, ARGV[1], ARGV[2], ARGV[3], ARGV[#ARGV], ARGV[i],
    keys[place - 1], ARGV[i + 1], ARGV[i + 2], pair, alone)
  if not done then what = redis.error_reply(what) end
  local word = #said
  if what.err then
    said[word + 1], said[word + 2], said[word + 3], said[word + 4] = what, 0, 0, 0
  else
    said[word + 1], said[word + 2], said[word + 3], said[word + 4] = what[1], what[2], what[4] or 0,
      what[5] or 0
    refused = refused or what[1] == 0
  end
  holders[#holders + 1] = not what.err and what[6] or ''
end
if refused then said[#said + 1] = holders end
return said
