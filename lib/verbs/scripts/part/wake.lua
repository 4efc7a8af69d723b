-- Sends a message to a waiter. pcall is used because this user may not be allowed to publish, and
-- what was done before must stand.
local function wake(entry, slot)
  redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(entry, 2, 17),
    string.match(entry, '%d*', 19) .. (slot and '.' .. slot or ''))
end
-- Wakes those who may have a lock of this holder now: the first waiter, or all readers at the front. A waiter
-- that has been `told` before, or is `spared`, is not woken; entries of `asking` are not spent. Returns whether
-- the spared waiter may have the lock, too, and whether anybody is in line.
local function wake_front(lock, holder, slot, told, spared, asking)
  prune(lock)
  local first = front(lock, holder, false, 1, asking or {})[1]
  if not first then return false, false end
  local woken = {first}
  if string.sub(first, 1, 1) == 'w' then
    if holder then return false, true end
  else
    woken = redis.call('ZRANGE', line_of(lock), '0', '-1')
  end
  local is_spared = false
  for i, entry in ipairs(woken) do
    if i > 1 and string.sub(entry, 1, 1) == 'w' then break end
    if entry == spared then
      is_spared = true
    elseif told and not told[entry] then
      told[entry] = true
      wake(entry, slot)
    end
  end
  return is_spared, true
end
