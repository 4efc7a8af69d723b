-- Deletes locks of one holder each, one after the other, for which nobody enters or leaves a line. Wakes those
-- who may have them now.
--
--   ARGV     for each lock its key and token
--   returns  for each lock as release_all.lua, or an error
-- The locks are not among KEYS: the server would refuse the whole call for one key that this user may not touch.
local locks, lines, ours, is_ours, said = {}, {}, {}, {}, {}
local function carefully(lock, token)
  --> now
  --> holder
  --> line
  --> wake
  --> blame
  local function release()
    local holder = holder_of(lock, token)
    if holder ~= token or holder == read_mark then return 0 end
    redis.call('DEL', lock)
    local _, waits = wake_front(lock, nil, nil, {}, '')
    if not waits then return 1 end
    return {1, 0, tonumber(redis.call('ZRANGE', line_of(lock), -1, -1, 'WITHSCORES')[2])}
  end
  local done, said = pcall(release)
  return done and said or blame(said, {lock}, {})
end
-- Usually each lock is its token's and no line has waiters, which takes one call of each command. Every other
-- case, such as a key that this user may not touch, is handled carefully.
for i = 1, #ARGV / 2 do
  locks[i] = ARGV[2 * i - 1]
  lines[i] = 'quorumlock:queue:' .. locks[i]
end
local holders = redis.pcall('MGET', unpack(locks))
if redis.pcall('EXISTS', unpack(lines)) == 0 then
  for i, lock in ipairs(locks) do
    if holders[i] == ARGV[2 * i] and holders[i] ~= 'quorumlock:readers' and not is_ours[lock] then
      ours[#ours + 1] = lock
      is_ours[lock] = i
    end
  end
end
local deleted = ours[1] and redis.pcall('DEL', unpack(ours)) == #ours
for i, lock in ipairs(locks) do
  said[i] = deleted and is_ours[lock] == i and 1 or carefully(lock, ARGV[2 * i])
  local why = type(said[i]) == 'table' and said[i].err
  -- A replica refuses everything.
  if why and string.find(why, 'READONLY', 1, true) then return said[i] end
end
return said
