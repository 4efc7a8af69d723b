-- Acquires locks as one, all of them or none: to write, or to read together with other readers. A permit of a
-- semaphore is such a lock. A waiter that is not in the line enters it, whether it is granted the locks or not.
--
--   KEYS     locks, their counters in the same order; for a permit the semaphore and its counter
--   ARGV     token, ttl ms, greatest fence seen, client's wall clock us, fencing (1 or 0),
--            waiter (empty: not in any line), ticket, an entry's life ms, "w" to write or "r" to read,
--            slot (0: a lock), capacity, enrolment, floor, counters' life ms, for how many ms an absent counter
--            has not been written at the least
--   returns  {1, fence, time, next}  granted, with one fence greater than all counters. The entries stay. `next`
--                                    is the number of the next waiter if there is one lock and both are of one
--                                    process, else 0.
--            {0, greatest counter, time, ms until this may change by itself, greatest ticket, holder}
--                                    a lock is taken, or a waiter is before this one. The holder is that of the
--                                    first lock that one client has (part/describe.lua), empty if there is
--                                    none. Of a semaphore it is a free slot instead, 0 if all are taken or
--                                    others are before this waiter.
--            {-1, 0, time}           not enrolled; nothing was touched
--            {-2, number, time}      permits are held of a semaphore with another number of slots; nothing was
--                                    touched
local function acquire()
  --> now
  local n = #KEYS / 2
  local waiter, reads, slot, capacity = ARGV[6], ARGV[9] == 'r', 0, 0
  --> read_mark
  --> line
  --> front
  local permit_of, free_slot, capacity_of, is_another
  local found = redis.call('MGET', 'quorumlock:enrolment', unpack(KEYS, n + 1))
  if found[1] ~= ARGV[12] then return {-1, 0, time} end
  local locks = KEYS
  if ARGV[10] ~= '0' then
    --> permits
    slot, capacity = tonumber(ARGV[10]), tonumber(ARGV[11])
    local recorded, odd = capacity_of(KEYS[1])
    if odd then return odd end
    if is_another(KEYS[1], recorded, capacity) then return {-2, recorded, time} end
    locks = {permit_of(KEYS[1], slot)}
  end
  local granted, fence, last, due, greatest, first, behind, holders = true, 0, 0, -2, 0, nil, nil, {}
  for i = 1, n do
    local written = found[i + 1]
    --> counter
    fence = math.max(fence, counter or 0)
    -- An absent counter has not been written for so long by this node's own clock. A renewal or a repair may have set
    -- one that is there to less.
    last = math.max(last, counter or 0, time - ARGV[15] * 500)
    local holder
    if redis.call('EXISTS', locks[i]) == 1 then
      --> holder
      holder = holder_of(locks[i], ARGV[1])
    end
    holders[i] = holder
    prune(KEYS[i])
    local before, ends, after = front(KEYS[i], holder, reads, 1, {}, waiter)
    if waiter ~= '' and not after and not redis.call('ZSCORE', line_of(KEYS[i]), waiter) then
      --> enter
      enter(KEYS[i], waiter, ARGV[7], ARGV[8])
      before, ends, after = front(KEYS[i], holder, reads, 1, {}, waiter)
    end
    behind = after
    local is_free = holder == nil or (reads and holder == read_mark)
    if before[1] or not is_free then
      granted = false
      if is_free or (slot > 0 and before[1]) then
        due = math.max(due, math.floor(ends[1] - ms) + 1)
      elseif slot == 0 then
        due = math.max(due, redis.call('PTTL', locks[i]))
        -- Readers are not described, and must not hide the holder of another of these locks.
        if not first or first == '' then
          --> describe
          first = describe(locks[i], holder)
        end
      else
        first, due = free_slot(KEYS[1], capacity, slot)
      end
    end
  end
  for i = 1, granted and 0 or n do
    greatest = math.max(greatest, redis.call('ZRANGE', line_of(KEYS[i]), '-1', '-1', 'WITHSCORES')[2] or 0)
  end
  if not granted then return {0, fence, time, due, greatest, first or (slot > 0 and 0 or '')} end
  if ARGV[5] == '1' then
    fence = math.max(last + 1, ARGV[3] + 1, ARGV[13] + 1, math.min(tonumber(ARGV[4]), time + 60000000))
    --> cap
    -- The counters are written first, because a script that fails half-way is not undone. GET makes SET refuse
    -- another kind of value.
    local text = string.format('%.0f', fence)
    for i = 1, n do redis.call('SET', KEYS[n + i], text, 'PX', ARGV[14], 'GET') end
  end
  if slot > 0 then redis.call('SET', KEYS[1], ARGV[11], 'PX', ARGV[14], 'GET') end
  for i = 1, n do
    if reads then
      --> join
      join(locks[i], holders[i], ARGV[1], ms + ARGV[2], ARGV[2])
    else
      redis.call('SET', locks[i], ARGV[1], 'NX', 'PX', ARGV[2])
    end
    if waiter ~= '' and slot == 0 then
      redis.call('HSET', grants_of(KEYS[i]), waiter, ARGV[1])
      redis.call('PEXPIRE', grants_of(KEYS[i]), 2 * math.min(ARGV[8], 86400000))
    end
  end
  local next = not reads and waiter ~= '' and n == 1 and behind or ''
  if string.sub(next, 2, 18) ~= string.sub(waiter, 2, 18) then return {1, fence, time, 0} end
  return {1, fence, time, tonumber(string.match(next, '%d*', 19)) or 0}
end
-- What only few calls need is made where they need it: Lua makes each function anew in every call of a script.
local done, said = pcall(acquire)
if done then return said end
--> blame
local n = #KEYS / 2
return blame(said, {unpack(KEYS, 1, n)}, {unpack(KEYS, n + 1)})
