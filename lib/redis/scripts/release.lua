-- Deletes locks of this token and wakes the waiters that may have them now.
--
-- One lock
--   KEYS     lock
--   ARGV     token, the waiter that leaves the line (optional, empty: none), the waiter that need not be woken
--            (optional)
--   returns  0                      the lock is not this token's
--            1                      deleted, and nobody is in the line
--            {1, 1, 0}              deleted, and the waiter that was not woken may have the lock
--            {1, 0, greatest ticket}  deleted, and others are in the line
-- Several locks, one after the other
--   ARGV     for each lock its key and token
--   returns  for each lock as above, or an error
--   There are no KEYS: the server would refuse the whole call for one key that this user may not touch.
--
-- If the lock is free now, the head of the line is woken. Readers at the front of the line are woken together, even
-- while others read. Nobody else gets a message. If nobody leaves the line, the waiter that is not woken gives a
-- grant back and goes on waiting: the mark of its entry is removed (acquire_ordered.lua).
local function release(lock, token, leaver, not_woken)
  local line = 'quorumlock:queue:' .. lock
  local left, deleted, readers = 0, 0, false
  if leaver ~= '' then
    left = redis.call('ZREM', line, leaver)
    redis.call('ZREM', 'quorumlock:waiting:' .. lock, leaver)
  end
  -- This comes after leaving the line, because GET fails if the key holds another kind of value.
  local holder = redis.pcall('GET', lock)
  if holder == token then
    deleted = redis.call('DEL', lock)
  elseif type(holder) == 'table' then
    if not string.find(holder.err, 'WRONGTYPE', 1, true) then return holder end
    deleted = redis.call('ZREM', lock, token)
    readers = true
  end
  if leaver == '' and not_woken and (deleted == 1 or type(holder) ~= 'string') then
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. lock, not_woken)
    if ends and ends % 1 ~= 0 then
      redis.call('ZADD', 'quorumlock:waiting:' .. lock, string.format('%.0f', ends - 0.5), not_woken)
    end
  end
  -- If nothing has changed, nobody is woken.
  if deleted + left == 0 or (deleted == 0 and not readers and holder) then return deleted end
  local ms
  if readers then
    local now = redis.call('TIME')
    ms = math.floor(now[1] * 1000 + now[2] / 1000)
    if redis.call('PTTL', lock) > 0 then
      redis.call('ZREMRANGEBYSCORE', lock, '-inf', string.format('(%.0f', ms))
    end
    readers = redis.call('EXISTS', lock) == 1
  end
  -- The line is usually empty, and EXISTS costs less than a range that is empty.
  if redis.call('EXISTS', line) == 0 then return deleted end
  local lives = 'quorumlock:waiting:' .. lock
  local first = redis.call('ZRANGE', line, 0, 0)[1]
  if not ms then
    local now = redis.call('TIME')
    ms = math.floor(now[1] * 1000 + now[2] / 1000)
  end
  --> prune
  if not first then return deleted end
  -- The readers at the front could come in before this release, unless a writer had the lock or was before them.
  local news = type(holder) ~= 'table' or string.sub(first, 1, 1) == 'w' or
    string.sub(leaver, 1, 1) == 'w'
  local front = {}
  if string.sub(first, 1, 1) == 'w' then
    if not readers then front = {first} end
  elseif news or not_woken then
    for _, entry in ipairs(redis.call('ZRANGE', line, 0, -1)) do
      if string.sub(entry, 1, 1) == 'w' then
        if tonumber(redis.call('ZSCORE', lives, entry) or 0) >= ms then break end
      else
        front[#front + 1] = entry
      end
    end
  end
  local mine = false
  --> wake
  for _, entry in ipairs(front) do
    if entry == not_woken then
      mine = true
    elseif news then
      wake(entry)
    end
  end
  if deleted == 0 then return 0 end
  if mine then return {1, 1, 0} end
  return {1, 0, tonumber(redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2])}
end

if KEYS[1] then return release(KEYS[1], ARGV[1], ARGV[2] or '', ARGV[3]) end
-- Usually each lock is its token's and no line has waiters, which takes one call of each command. Every other
-- case, such as a key that this user may not touch, is left to release().
local locks, lines, ours, is_ours, said = {}, {}, {}, {}, {}
for i = 1, #ARGV / 2 do
  locks[i] = ARGV[2 * i - 1]
  lines[i] = 'quorumlock:queue:' .. locks[i]
end
local holders = redis.pcall('MGET', unpack(locks))
if redis.pcall('EXISTS', unpack(lines)) == 0 then
  for i, lock in ipairs(locks) do
    if holders[i] == ARGV[2 * i] and not is_ours[lock] then
      ours[#ours + 1] = lock
      is_ours[lock] = i
    end
  end
end
local deleted = ours[1] and redis.pcall('DEL', unpack(ours)) == #ours
for i, lock in ipairs(locks) do
  if deleted and is_ours[lock] == i then
    said[i] = 1
  else
    local done, what = pcall(release, lock, ARGV[2 * i], '')
    said[i] = done and what or redis.error_reply(what)
  end
end
return said
