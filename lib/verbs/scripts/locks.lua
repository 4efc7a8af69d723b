-- Lists a part of the locks, or of the permits, that a node has. Changes nothing.
--
--   ARGV     cursor, pattern of the keys, how many keys to look at, the prefix of semaphores' keys (empty: locks)
--   returns  {next cursor, time, {key, kind of value, pttl, fencing counter, waiters, holders, leads, next, value}, ...}
--            kind      "readers" if readers have the lock, else "string"
--            holders   {token}, or {token, ms at which its life ends, ...} of readers
--            leads     1 if the holder has announced itself as a leader (announce.lua), else 0
--            next      the first waiter; empty if there is none
--            value     what the leader has announced, 1000 bytes at most; empty if it does not lead
-- A key is a lock if its holder's token has a label, or if it has a fencing counter or a line. Keys that this
-- user may not read are left out. At most 20 readers and 1000 waiters of a lock are looked at.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
--> read_mark
--> describe
local function waiters_of(key)
  local count, first = 0, ''
  for _, entry in ipairs(redis.call('ZRANGE', 'quorumlock:queue:' .. key, 0, 999)) do
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. key, entry)
    -- A waiter that was granted the lock is not waiting any more.
    local is_granted = redis.call('HGET', 'quorumlock:granted:' .. key, entry)
    if ends and ends * 1000 >= time and not is_granted then
      count = count + 1
      if count == 1 and #entry <= 128 then first = entry end
    end
  end
  return count, first
end
local function look_at(key)
  local kind, holders = redis.call('TYPE', key).ok, {}
  if kind ~= 'string' then return nil end
  local holder = redis.call('GETRANGE', key, 0, 127)
  if holder == read_mark then
    kind = 'readers'
    local found = redis.call('ZRANGE', readers_of(key), 0, 19, 'WITHSCORES')
    for i = 1, #found, 2 do
      if #found[i] <= 128 then holders[#holders + 1], holders[#holders + 2] = found[i], found[i + 1] end
    end
  else
    holders[1] = describe(key, holder)
  end
  if not holders[1] then return nil end
  local lock = ARGV[4] == '' and key or ARGV[4] .. string.match(key, '^quorumlock:permit:(.*):%d+$')
  local counter = redis.call('MGET', 'quorumlock:fence:' .. lock)[1]
  counter = counter and #counter <= 16 and counter
  local is_labelled = kind == 'string' and #holder > 40 and holders[1] == holder
  if not is_labelled and not counter and redis.call('EXISTS', 'quorumlock:queue:' .. lock) == 0 then
    return nil
  end
  -- pcall is used because this user may not be allowed to read the record. A record may outlive its leader.
  local leader = ARGV[4] == '' and redis.pcall('HMGET', 'quorumlock:leader:' .. key, 'token', 'value') or {}
  local leads = leader[1] == holders[1] and 1 or 0
  local value = leads == 1 and string.sub(leader[2] or '', 1, 1000) or ''
  local waiters, first = waiters_of(lock)
  return {key, kind, redis.call('PTTL', key), counter or '', waiters, holders, leads, first, value}
end
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {page[1], time}
for _, key in ipairs(page[2]) do
  local is_own = string.sub(key, 1, 11) == 'quorumlock:'
  if is_own == (ARGV[4] ~= '') then
    local can_read, lock = pcall(look_at, key)
    if can_read and lock then found[#found + 1] = lock end
  end
end
return found
