-- Deletes locks of one holder each, one after the other, for which nobody enters or leaves a line. Wakes those
-- who may have them now.
--
--   ARGV     for each lock its key and token
--   returns  1 if all were deleted and nobody waits, else for each lock as release_all.lua, or an error
-- The locks are not among KEYS: the server would refuse the whole call for one key that this user may not touch.
local words, locks, lines, ours, said = ARGV, {}, {}, {}, {}
local function carefully(lock, token)
  --> now
  --> read_mark
  --> holder
  --> line
  --> front
  --> wake
  --> blame
  local function release()
    local holder = holder_of(lock, token)
    if holder ~= token or holder == read_mark then return 0 end
    redis.call('DEL', lock)
    local _, waits = wake_front(lock, nil, nil, {}, '')
    if not waits then return 1 end
    return {1, 0, tonumber(redis.call('ZRANGE', line_of(lock), '-1', '-1', 'WITHSCORES')[2])}
  end
  local done, said = pcall(release)
  return done and said or blame(said, {lock}, {})
end
-- Usually each lock is its token's and no line has waiters, which takes one call of each command. Every other
-- case, such as a key that this user may not touch, is handled carefully.
for i = 1, #words / 2 do
  locks[i] = words[2 * i - 1]
  lines[i] = 'quorumlock:queue:' .. locks[i]
end
local holders = redis.pcall('MGET', unpack(locks))
if redis.pcall('EXISTS', unpack(lines)) == 0 then
  local count = 0
  for i = 1, #locks do
    if holders[i] == words[2 * i] and holders[i] ~= 'quorumlock:readers' then
      count = count + 1
      ours[count] = locks[i]
    end
  end
end
local deleted = ours[1] and redis.pcall('DEL', unpack(ours))
if deleted == #locks then return 1 end
-- A name that came twice is deleted once, so all of `ours` are gone unless DEL failed.
local is_ours = {}
for _, lock in ipairs(type(deleted) == 'number' and ours or {}) do is_ours[lock] = true end
for i, lock in ipairs(locks) do
  said[i] = is_ours[lock] and holders[i] == words[2 * i] and 1 or carefully(lock, words[2 * i])
  is_ours[lock] = nil
  local why = type(said[i]) == 'table' and said[i].err
  -- A replica refuses everything.
  if why and string.find(why, 'READONLY', 1, true) then return said[i] end
end
return said
