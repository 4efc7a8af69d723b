-- Enters waiters into their lines, or prolongs the lives of their entries (part/line.lua), and returns each one's
-- place. A ticket may grow. A waiter that was granted a lock keeps its grant.
--
--   KEYS     locks
--   ARGV     an entry's life ms, then for each lock a waiter and its ticket
--   returns  five values for each lock:
--            - which waiter is before this one. 0: none; 1: one waiter of its own process; 2: one of another
--              process; 3: more than one
--            - 1 if the lock is free, or for a semaphore the number of a free slot; 0 if none is free
--            - the holder (part/describe.lua); empty if there is none or readers have the lock, and for a semaphore
--            - ms until one of these may change by itself
--            - the greatest ticket of all other waiters
-- For a reader, only writers are before it, and a lock that others read is free.
local function queue()
  --> now
  --> read_mark
  --> holder
  --> describe
  --> line
  --> front
  --> enter
  local permit_of, free_slot, capacity_of, is_another
  --> wake
  local looks, asking = {}, {}
  -- What all waiters for a lock need to know about it. The first entries are looked for once for each mode.
  local function look_at(lock)
    if looks[lock] then return looks[lock] end
    local look = {of_permits = string.sub(lock, 1, 21) == 'quorumlock:semaphore:', places = {}}
    if look.of_permits then
      --> permits
    else
      look.holder = holder_of(lock, '')
      look.due = redis.call('PTTL', lock)
    end
    prune(lock)
    looks[lock] = look
    return look
  end
  local function places_of(lock, look, reads)
    local mode = reads and 'r' or 'w'
    if not look.places[mode] then
      local first, ends = front(lock, look.holder, reads, 2, asking)
      look.places[mode] = {first, ends}
    end
    return unpack(look.places[mode])
  end
  local reply, changed, greatest = {}, {}, {}
  for i = 1, #KEYS do
    local waiter = ARGV[2 * i]
    local last = redis.call('ZRANGE', line_of(KEYS[i]), '-2', '-1', 'WITHSCORES')
    greatest[i] = last[#last]
    if last[#last - 1] == waiter then greatest[i] = last[#last - 2] end
    changed[i], asking[waiter] = enter(KEYS[i], waiter, ARGV[2 * i + 1], ARGV[1])
  end
  for i = 1, #KEYS do
    local waiter = ARGV[2 * i]
    local reads = string.sub(waiter, 1, 1) == 'r'
    local look = look_at(KEYS[i])
    local first, ends = places_of(KEYS[i], look, reads)
    local count = #first
    local function ticket_of(entry) return tonumber(redis.call('ZSCORE', line_of(KEYS[i]), entry)) end
    if reads then
      while count > 0 and ticket_of(first[count]) >= ticket_of(waiter) do count = count - 1 end
    else
      for j = 1, count do
        if first[j] == waiter then count = j - 1 end
      end
    end
    local before = count < 2 and count or 3
    if count == 1 and string.sub(first[1], 2, 18) ~= string.sub(waiter, 2, 18) then before = 2 end
    local free, due, holder = nil, look.due, look.holder
    if not look.of_permits then
      free = (holder == nil or (reads and holder == read_mark)) and 1 or 0
    elseif before < 3 or changed[i] then
      local capacity = capacity_of(KEYS[i]) or 1
      free, due = free_slot(KEYS[i], capacity, capacity)
    else
      free, due = 0, -1
    end
    if free > 0 then due = count > 0 and math.floor(ends[1] - ms) + 1 or -1 end
    -- This waiter may have been the head until now and have got the message that was meant for the new head.
    if before ~= 0 and changed[i] and (look.of_permits and free > 0 or not look.of_permits) then
      if holder == nil or holder == read_mark then
        wake_front(KEYS[i], holder, look.of_permits and free or nil, {}, '', asking)
      end
    end
    reply[5 * i - 4] = before
    reply[5 * i - 3] = free
    reply[5 * i - 2] = free == 0 and not look.of_permits and describe(KEYS[i], holder) or ''
    reply[5 * i - 1] = due
    reply[5 * i] = tonumber(greatest[i]) or 0
  end
  return reply
end
local done, said = pcall(queue)
if done then return said end
--> blame
return blame(said, KEYS, {})
