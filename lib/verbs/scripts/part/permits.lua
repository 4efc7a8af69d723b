-- A script declares these names as locals, and has this part where it knows that it is about a semaphore.
-- A permit of a semaphore is a slot, which is taken like a lock; the semaphore's key has the number of slots.
function permit_of(semaphore, slot)
  return 'quorumlock:permit:' .. string.sub(semaphore, 22) .. ':' .. slot
end
-- Returns a free slot among `capacity`, looking from `from` on, or 0, and the ms until one may become free by
-- itself.
function free_slot(semaphore, capacity, from)
  local due = -1
  for i = from, from + capacity - 1 do
    local slot = i % capacity + 1
    local left = redis.call('PTTL', permit_of(semaphore, slot))
    if left == -2 then return slot, left end
    if left >= 0 and (due < 0 or left < due) then due = left end
  end
  return 0, due
end
-- Returns the number of slots that the semaphore has, nil if it has none, or an error: our scripts write only
-- whole numbers from 1 to 1024.
function capacity_of(semaphore)
  local written = redis.call('MGET', semaphore)[1]
  if not written then return nil end
  local capacity = tonumber(written)
  if capacity and capacity >= 1 and capacity <= 1024 and capacity % 1 == 0 then return capacity end
  return nil, redis.error_reply('ERR quorumlock: ' .. semaphore .. ' is not a number of permits from 1 to 1024')
end
-- Whether permits are held of a semaphore with another number of slots. Another number is accepted once none is.
function is_another(semaphore, recorded, capacity)
  if not recorded or recorded == capacity then return false end
  for slot = 1, recorded do
    if redis.call('EXISTS', permit_of(semaphore, slot)) == 1 then return true end
  end
  return false
end
