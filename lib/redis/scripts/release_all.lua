-- Deletes each of several locks that is this token's; a lock that others read loses only this reader. For each
-- lock that becomes free, the head of its line is woken once.
--
--   KEYS     locks
--   ARGV     token, the waiter that leaves all lines (optional, empty: none), the waiter that need not be woken
--            (optional)
--   returns  0          not all of them were this token's
--            1          all were
--            {1, 1, 0}  all were, and the waiter that was not woken may have all of them now
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
-- MGET is used because another kind of value under one key must not keep the other locks.
local found = redis.call('MGET', unpack(KEYS))
local ours, first_in, woken = 0, 0, {}
--> wake
local leaver, not_woken = ARGV[2] or '', ARGV[3] or ''
for i = 1, #KEYS do
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local freed, left, read = found[i] == ARGV[1], 0, false
  if leaver ~= '' then
    left = redis.call('ZREM', line, leaver)
    redis.call('ZREM', lives, leaver)
  end
  if leaver == '' and not_woken ~= '' and (freed or not found[i]) then
    -- The waiter gives its grant back and goes on waiting (release.lua).
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. KEYS[i], not_woken)
    if ends and ends % 1 ~= 0 then
      redis.call('ZADD', lives, string.format('%.0f', ends - 0.5), not_woken)
    end
  end
  local writer_left = left == 1 and string.sub(leaver, 1, 1) == 'w'
  if freed then
    redis.call('DEL', KEYS[i])
    ours = ours + 1
  elseif not found[i] then
    read = redis.call('TYPE', KEYS[i]).ok == 'zset'
    local deleted = read and redis.call('ZREM', KEYS[i], ARGV[1]) or 0
    if read and redis.call('PTTL', KEYS[i]) > 0 then
      redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', string.format('(%.0f', ms))
    end
    ours = ours + deleted
    freed = deleted + left > 0 and redis.call('EXISTS', KEYS[i]) == 0
    -- While others read, the readers at the front could come in before this, unless a writer was before them.
    read = read and not freed and (writer_left or (deleted == 1 and not_woken ~= ''))
  end
  local first = (freed or read) and redis.call('ZRANGE', line, 0, 0)[1]
  --> prune
  local front = {}
  if first and string.sub(first, 1, 1) == 'r' then
    -- Readers come in together, even while others read (release.lua).
    front = redis.call('ZRANGE', line, 0, -1)
  elseif first and freed then
    front = {first}
  end
  for j, entry in ipairs(front) do
    if j > 1 and string.sub(entry, 1, 1) == 'w' then break end
    if entry == not_woken then
      first_in = first_in + 1
    elseif (freed or writer_left) and not woken[entry] then
      woken[entry] = true
      wake(entry)
    end
  end
end
if ours < #KEYS then return 0 end
return first_in == #KEYS and {1, 1, 0} or 1
