-- Enters waiters into their lines, or prolongs the lives of their entries (acquire_ordered.lua), and returns
-- each one's place. A ticket may grow. An entry that is marked stays marked, and spent entries of these
-- waiters are not removed: each waiter goes on waiting.
--
--   KEYS     locks
--   ARGV     an entry's life ms, then for each lock a waiter and its ticket
--   returns  five values for each lock:
--            - which waiter is before this one. 0: none; 1: one waiter of its own process; 2: one of another
--              process; 3: more than one
--            - 1 if the lock is free, or for a semaphore the number of a free slot; 0 if none is free
--            - the holder's token; empty if nobody or readers have the lock, and for a semaphore
--            - ms until one of these may change by itself
--            - the greatest ticket of all other waiters
-- For a reader, only writers are before it, and a lock that others read is free.
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
local life = ARGV[1]
local reply, changed, greatest, writers, asks = {}, {}, {}, {}, {}
-- Returns a free slot of a semaphore, or 0, and the ms until a slot may become free by itself.
local function slot_of(key)
  local due = -1
  for i = 1, tonumber(redis.call('GET', key)) or 1 do
    local left = redis.call('PTTL', 'quorumlock:permit:' .. i .. ':' .. string.sub(key, 22))
    if left == -2 then return i, left end
    if left >= 0 and (due < 0 or left < due) then due = left end
  end
  return 0, due
end
-- Adds a member, or makes its score greater. Returns 1 if it did, else 0.
local function raise(set, score, member)
  local now = redis.call('ZSCORE', set, member)
  if now and tonumber(now) >= tonumber(score) then return 0 end
  if now and now % 1 ~= 0 then score = score .. '.5' end
  redis.call('ZADD', set, score, member)
  return 1
end
for i = 1, #KEYS do
  local waiter = ARGV[2 * i]
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local last = redis.call('ZRANGE', line, -2, -1, 'WITHSCORES')
  greatest[i] = last[#last]
  asks[waiter] = true
  if last[#last - 1] == waiter then greatest[i] = last[#last - 2] end
  changed[i] = raise(line, ARGV[2 * i + 1], waiter)
  raise(lives, string.format('%.0f', ms + life), waiter)
  --> keep_line
end
-- Returns the first two writers of a line, each with its ticket and the end of its entry's life.
local function writers_of(line, lives, lock)
  local found, at = {}, 0
  while true do
    local some = redis.call('ZRANGE', line, at, at + 99, 'WITHSCORES')
    for j = 1, #some, 2 do
      if string.sub(some[j], 1, 1) == 'w' then
        local ends = tonumber(redis.call('ZSCORE', lives, some[j]) or 0)
        local spent = ends % 1 ~= 0 and redis.call('TYPE', lock).ok ~= 'string'
        if ends >= ms and not spent then
          found[#found + 1] = {some[j], tonumber(some[j + 1]), ends}
        end
        if #found == 2 then return found end
      end
    end
    if #some < 200 then return found end
    at = at + 100
  end
end
--> wake
for i = 1, #KEYS do
  local waiter = ARGV[2 * i]
  local reads = string.sub(waiter, 1, 1) == 'r'
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local first, ends
  while true do
    first = redis.call('ZRANGE', line, 0, 1)
    ends = redis.call('ZSCORE', lives, first[1])
    local spent = ends and ends % 1 ~= 0 and not asks[first[1]] and
      redis.call('EXISTS', KEYS[i]) == 0
    if ends and tonumber(ends) >= ms and not spent then break end
    redis.call('ZREM', line, first[1])
    redis.call('ZREM', lives, first[1])
  end
  local front_reads = string.sub(first[1], 1, 1) == 'r'
  local before = 3
  if reads then
    writers[line] = writers[line] or writers_of(line, lives, KEYS[i])
    local ticket = tonumber(redis.call('ZSCORE', line, waiter))
    local one, other = writers[line][1], writers[line][2]
    if not one or one[2] >= ticket then
      before = 0
    else
      ends = one[3]
      if not other or other[2] >= ticket then
        before = string.sub(one[1], 2, 18) == string.sub(waiter, 2, 18) and 1 or 2
      end
    end
  elseif first[1] == waiter then
    before = 0
  elseif first[2] == waiter then
    before = string.sub(first[1], 2, 18) == string.sub(waiter, 2, 18) and 1 or 2
  end
  local slot, due
  if string.sub(KEYS[i], 1, 21) ~= 'quorumlock:semaphore:' then
    due = redis.call('PTTL', KEYS[i])
  elseif before < 3 or changed[i] == 1 then
    slot, due = slot_of(KEYS[i])
  else
    due = -1
  end
  local shared = due > 0 and redis.call('TYPE', KEYS[i]).ok == 'zset'
  if shared then
    redis.pcall('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('(%.0f', ms))
    due = redis.call('PTTL', KEYS[i])
    shared = due ~= -2
  end
  local absent = due == -2
  local free = absent or (shared and reads)
  if free then due = ends - ms + 1 end
  -- This waiter may have been the head until now and have got the message that was meant for the new head.
  if before ~= 0 and changed[i] == 1 then
    if not front_reads then
      if absent then wake(first[1], slot) end
    elseif absent or shared then
      for _, entry in ipairs(redis.call('ZRANGE', line, 0, -1)) do
        if string.sub(entry, 1, 1) == 'w' then break end
        wake(entry)
      end
    end
  end
  reply[5 * i - 4] = before
  reply[5 * i - 3] = free and (slot or 1) or 0
  reply[5 * i - 2] = not free and not slot and redis.call('MGET', KEYS[i])[1] or ''
  reply[5 * i - 1] = due
  reply[5 * i] = tonumber(greatest[i]) or 0
end
return reply
