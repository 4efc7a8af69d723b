-- Deletes each of several locks, or the permit, that is this token's; a lock that others read loses only this
-- reader. Each lock that becomes free wakes those who may have it now.
--
--   KEYS     locks, or the semaphore
--   ARGV     token, the waiter that leaves all lines (empty: none), the waiter that need not be woken (empty:
--            none), slot (0: a lock), how long in ms no renewal may re-plant the locks (0: not by token)
--   returns  0                        not all of them were this token's
--            1                        all were
--            {1, 1, 0}                all were, and the waiter that was not woken may have all of them now
--            {1, 0, greatest ticket}  the lock was, and others are in its line
-- If nobody leaves the line, the waiter that is not woken gives its grant back and goes on waiting. The message to
-- a waiter for a permit has the free slot after the waiter's number.
local function release()
  local token, leaver, not_woken, slot, barred = ARGV[1], ARGV[2], ARGV[3], 0, ARGV[5]
  --> read_mark
  --> holder
  --> line
  local permit_of, free_slot, capacity_of, is_another
  if ARGV[4] ~= '0' then
    --> permits
    slot = tonumber(ARGV[4])
  end
  local ours, first_in, waits, told, holders, deleted = 0, 0, false, {}, {}, {}
  -- All locks come before all lines: what another program has under a line's name keeps no lock.
  for i, key in ipairs(KEYS) do
    local lock = slot > 0 and permit_of(key, slot) or key
    local holder = holder_of(lock, token)
    local was_read = holder == read_mark
    deleted[i] = holder == token and 1 or 0
    if was_read then deleted[i] = redis.call('ZREM', readers_of(lock), token) end
    if deleted[i] == 1 then
      if barred ~= '0' then
        redis.call('SET', 'quorumlock:released:' .. key .. ':' .. token, '1', 'PX', barred, 'GET')
      end
      if not was_read or redis.call('EXISTS', readers_of(lock)) == 0 then
        redis.call('DEL', lock)
        holder = nil
      end
      ours = ours + 1
    end
    holders[i] = holder
  end
  -- Others in a line are woken if this changes anything for them.
  for i, key in ipairs(KEYS) do
    local holder, left, free = holders[i], 0, nil
    if leaver ~= '' then
      left = leave(key, leaver)
    elseif not_woken ~= '' and redis.call('HGET', grants_of(key), not_woken) == token then
      redis.call('HDEL', grants_of(key), not_woken)
    end
    local writer_left = left == 1 and string.sub(leaver, 1, 1) == 'w'
    local changed = holder == nil and deleted[i] + left > 0
    if slot > 0 and changed then
      free = slot
    elseif slot > 0 and left == 1 then
      local capacity = capacity_of(key) or 1
      free = free_slot(key, capacity, capacity)
      changed, holder = free > 0, nil
    elseif holder == read_mark then
      -- While others read, the readers at the front could come in before this, unless a writer was before them.
      changed = writer_left or (deleted[i] == 1 and not_woken ~= '')
    end
    if changed and redis.call('EXISTS', line_of(key)) == 1 then
      --> now
      --> front
      --> wake
      local tells = holder == nil or writer_left
      local is_first, others = wake_front(key, holder, free, tells and told or nil, not_woken)
      if is_first then first_in = first_in + 1 end
      waits = others or waits
    end
  end
  if ours < #KEYS then return 0 end
  if first_in == #KEYS then return {1, 1, 0} end
  if not waits or #KEYS > 1 then return 1 end
  return {1, 0, tonumber(redis.call('ZRANGE', line_of(KEYS[1]), '-1', '-1', 'WITHSCORES')[2])}
end
local done, said = pcall(release)
if done then return said end
--> blame
return blame(said, KEYS, {})
