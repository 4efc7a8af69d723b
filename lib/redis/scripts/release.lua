-- One lock: KEYS lock. ARGV token, the waiter that leaves the line (optional, empty: none), one that
-- need not be woken (optional). 0: nothing of ours there; 1: deleted. Deleted, and the line has
-- waiters: {1, may the one that is not woken have the lock now (1 or 0), if not the greatest ticket in
-- the line, else 0}. Where the lock is free now the first in the line is woken, or,
-- where nobody is in it, all who said that they want to know. Readers who have come to the front
-- of the line are woken together, also while others read. Where nobody leaves the line, the one that is
-- not woken gives a grant back and waits on: its entry's mark goes (see acquire_ordered.lua).
-- Several, one after the other: no KEYS, since one that this user may not touch would have the
-- server refuse them all. ARGV of each lock its key and token. The same for each, or an error.
local function release(lock, token, leaver, not_woken)
  local line = 'quorumlock:queue:' .. lock
  local lives
  local left, deleted, readers = 0, 0, false
  if leaver ~= '' then
    lives = 'quorumlock:waiting:' .. lock
    left = redis.call('ZREM', line, leaver)
    redis.call('ZREM', lives, leaver)
  end
  -- After that: another kind of value under the key is an error here.
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
  -- Where nothing has changed nobody is woken.
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
  -- As a rule nobody waits, and EXISTS says that for less than a range that is empty.
  local first
  if redis.call('EXISTS', line) == 1 then
    lives = 'quorumlock:waiting:' .. lock
    first = redis.call('ZRANGE', line, 0, 0)[1]
    if not ms then
      local now = redis.call('TIME')
      ms = math.floor(now[1] * 1000 + now[2] / 1000)
    end
    --> prune
  end
  -- pcall: this user may not be allowed to publish, and a release is done all the same.
  if not first then
    if not readers then redis.pcall('PUBLISH', 'quorumlock:free:' .. lock, '') end
    return deleted
  end
  -- Readers could come in before, too, unless a writer had it or was before them.
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
-- As a rule all are theirs and nobody waits for any: that takes one call of each kind. Whatever else
-- it is, a key that this user may not touch among it, is for release().
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
    redis.pcall('PUBLISH', 'quorumlock:free:' .. lock, '')
    said[i] = 1
  else
    local done, what = pcall(release, lock, ARGV[2 * i], '')
    said[i] = done and what or redis.error_reply(what)
  end
end
return said
