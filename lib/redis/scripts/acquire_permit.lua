-- KEYS semaphore, counter, enrolment. ARGV token, ttl ms, greatest fence seen, client's wall clock
-- us, counter's life ms, fencing (1 or 0), waiter (empty: not in the line yet), ticket, an entry's
-- life ms, slot, capacity, enrolment, floor.
-- The permits of a semaphore are slots, each a key of its own that is taken as a lock is. KEYS[1]
-- holds their number; the counter and the line (see acquire_ordered.lua) are those of all slots.
-- The slot is free, and nobody before the waiter: {1, fence, time, the number of the next one, 0
-- unless it is of the same process}, and the entry stays. Else {0, counter, time, ms until that may
-- change by itself, greatest ticket, a slot that is free: the next one behind, 0 for none and where
-- others are before it}, and the waiter is in the line. {-1, 0, time}: not enrolled; {-2, number,
-- time}: permits are held of a semaphore with another number of them; nothing touched.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[12] then return {-1, 0, time} end
local counter = tonumber(found[2]) or 0
local waiter, slot, capacity = ARGV[7], tonumber(ARGV[10]), tonumber(ARGV[11])
local name = string.sub(KEYS[1], 22)
local function keys_of(capacity)
  local keys = {}
  for i = 1, capacity do keys[i] = 'quorumlock:permit:' .. i .. ':' .. name end
  return keys
end
-- Another capacity is taken over once none of the old one's permits is there.
local recorded = tonumber(found[3]) or capacity
if recorded ~= capacity and redis.call('EXISTS', unpack(keys_of(recorded))) > 0 then
  return {-2, recorded, time}
end
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
local function front()
  while true do
    local found = redis.call('ZRANGE', line, 0, 1)
    if not found[1] then return found end
    local ends = redis.call('ZSCORE', lives, found[1])
    if ends and ends * 1000 >= time then return found, ends end
    redis.call('ZREM', line, found[1])
    redis.call('ZREM', lives, found[1])
  end
end
local first, ends = front()
if waiter ~= '' and first[1] ~= waiter and not redis.call('ZSCORE', line, waiter) then
  redis.call('ZADD', line, ARGV[8], waiter)
  redis.call('ZADD', lives, string.format('%.0f', math.floor(time / 1000) + ARGV[9]), waiter)
  for _, key in ipairs({line, lives}) do
    if redis.call('PTTL', key) < 2 * ARGV[9] then redis.call('PEXPIRE', key, 2 * ARGV[9]) end
  end
  first, ends = front()
end
local mine = (first[1] or '') == waiter
local wanted = 'quorumlock:permit:' .. slot .. ':' .. name
if not mine or redis.call('EXISTS', wanted) == 1 then
  local free, due = 0, -1
  if mine then
    local keys = keys_of(capacity)
    for i = slot, slot + capacity - 1 do
      local left = redis.call('PTTL', keys[i % capacity + 1])
      if left == -2 then
        free = i % capacity + 1
        break
      end
      if left >= 0 and (due < 0 or left < due) then due = left end
    end
  else
    due = math.floor(ends - time / 1000) + 1
  end
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')
  return {0, counter, time, due, tonumber(last[2]) or 0, free}
end
if ARGV[6] == '1' then
  -- A counter that is not there has lived its life since its last write, on this node's own clock.
  counter = math.max((tonumber(found[2]) or time - ARGV[5] * 500) + 1, ARGV[3] + 1, ARGV[13] + 1,
    math.min(tonumber(ARGV[4]), time + 60000000))
  if counter >= 9007199254740992 then
    return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
  end
  -- The counter first: a script that fails half-way is not undone.
  redis.call('SET', KEYS[2], string.format('%.0f', counter), 'PX', ARGV[5])
end
redis.call('SET', KEYS[1], ARGV[11], 'PX', ARGV[5])
redis.call('SET', wanted, ARGV[1], 'PX', ARGV[2])
local next = first[2] or ''
if string.sub(next, 1, 18) ~= string.sub(waiter, 1, 18) then return {1, counter, time, 0} end
return {1, counter, time, tonumber(string.sub(next, 19)) or 0}
