-- Acquires a permit of a semaphore. Permits are slots: each is a key of its own, which is taken like a lock.
-- KEYS[1] holds the number of slots. All slots share the counter and the line (acquire_ordered.lua).
--
--   KEYS     semaphore, counter, enrolment
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, counter's life ms, fencing (1 or 0),
--            waiter (empty: not in the line yet), ticket, an entry's life ms, slot, capacity, enrolment, floor
--   returns  {1, fence, time, next}  granted; the entry stays. `next` is the number of the next waiter if both
--                                    are of one process, else 0.
--            {0, counter, time, ms until this may change by itself, greatest ticket, free slot}
--                                    refused; the waiter has an entry in the line. The free slot is the first
--                                    one after the slot that was asked for; it is 0 if all are taken, or if
--                                    other waiters are before this one.
--            {-1, 0, time}           not enrolled; nothing was touched
--            {-2, number, time}      permits are held of a semaphore with another number of slots; nothing
--                                    was touched
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[12] then return {-1, 0, time} end
local written = found[2]
--> counter
counter = counter or 0
local waiter, ticket, life = ARGV[7], ARGV[8], ARGV[9]
local slot, capacity = tonumber(ARGV[10]), tonumber(ARGV[11])
local name = string.sub(KEYS[1], 22)
local function keys_of(capacity)
  local keys = {}
  for i = 1, capacity do keys[i] = 'quorumlock:permit:' .. i .. ':' .. name end
  return keys
end
-- Another capacity is accepted once no permit of the old one is held.
local recorded = tonumber(found[3]) or capacity
if recorded ~= capacity and redis.call('EXISTS', unpack(keys_of(recorded))) > 0 then
  return {-2, recorded, time}
end
local line, lives = 'quorumlock:queue:' .. KEYS[1], 'quorumlock:waiting:' .. KEYS[1]
--> front
local first, ends = front()
if waiter ~= '' and first[1] ~= waiter and not redis.call('ZSCORE', line, waiter) then
  --> enter
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
  --> count
end
redis.call('SET', KEYS[1], ARGV[11], 'PX', ARGV[5])
redis.call('SET', wanted, ARGV[1], 'PX', ARGV[2])
local next = first[2] or ''
if string.sub(next, 1, 18) ~= string.sub(waiter, 1, 18) then return {1, counter, time, 0} end
return {1, counter, time, tonumber(string.match(next, '%d*', 19)) or 0}
