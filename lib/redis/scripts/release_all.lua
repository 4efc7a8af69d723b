-- KEYS locks. ARGV as of release.lua: token, the waiter that leaves all their lines (optional, empty:
-- none), one that need not be woken (optional). Each lock that is the token's is deleted; where one is
-- free by this the first in its line is woken, once, or, where nobody is in it, all who want to know.
-- 1: all were ours; 2: likewise, and the one that is not woken is first in all the lines; 0: not all.
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
-- MGET: another kind of value under one of the keys must not keep the others.
local found = redis.call('MGET', unpack(KEYS))
local ours, first_in, woken = 0, 0, {}
for i = 1, #KEYS do
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local freed, read = found[i] == ARGV[1], false
  if freed then
    redis.call('DEL', KEYS[i])
    ours = ours + 1
  end
  if ARGV[2] and ARGV[2] ~= '' then
    local left = redis.call('ZREM', line, ARGV[2])
    redis.call('ZREM', lives, ARGV[2])
    if left == 1 and not freed and not found[i] then
      freed = redis.call('EXISTS', KEYS[i]) == 0
      read = not freed
    end
  end
  local first
  while freed or read do
    first = redis.call('ZRANGE', line, 0, 0)[1]
    local ends = first and redis.call('ZSCORE', lives, first)
    if not first or (ends and tonumber(ends) >= ms) then break end
    redis.call('ZREM', line, first)
    redis.call('ZREM', lives, first)
  end
  -- pcall: this user may not be allowed to publish, and a release is done all the same.
  if freed and not first then
    redis.pcall('PUBLISH', 'quorumlock:free:' .. KEYS[i], '')
  elseif freed and first == ARGV[3] then
    first_in = first_in + 1
  elseif first and string.sub(first, 1, 1) == 'r' then
    -- Readers come in together, also while others read (see release.lua).
    for _, entry in ipairs(redis.call('ZRANGE', line, 0, -1)) do
      if string.sub(entry, 1, 1) == 'w' then break end
      redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(entry, 2, 17), string.sub(entry, 19))
    end
  elseif freed and not woken[first] then
    woken[first] = true
    redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(first, 2, 17), string.sub(first, 19))
  end
end
if ours < #KEYS then return 0 end
return first_in == #KEYS and 2 or 1
