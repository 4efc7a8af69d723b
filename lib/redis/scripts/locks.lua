-- Lists a part of the locks, or of the permits, that a node has. Changes nothing.
--
--   ARGV     cursor, pattern of the keys, how many keys to look at, the prefix of semaphores' keys (empty: locks)
--   returns  {next cursor, time, {key, kind of value, pttl, fencing counter, waiters, holders, leads, next}, ...}
--            holders   {token} of a string, {token, ms at which its life ends, ...} of readers
--            leads     1 if the holder has announced itself as a leader (announce.lua), else 0
--            next      the first waiter; empty if there is none
-- A key is a lock if its holder's token has a label, or if it has a fencing counter or a line. Keys that this
-- user may not read are left out. At most 20 readers and 1000 waiters of a lock are looked at.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local function is_labelled(token)
  return token and #token > 40 and string.sub(token, 41, 41) == '@' and
    not string.find(string.sub(token, 1, 40), '[^0-9a-f]')
end
local function waiters_of(key)
  local count, first = 0, ''
  for _, entry in ipairs(redis.call('ZRANGE', 'quorumlock:queue:' .. key, 0, 999)) do
    local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. key, entry)
    -- A marked entry belongs to a waiter that was granted the lock (acquire_ordered.lua).
    if ends and ends * 1000 >= time and ends % 1 == 0 then
      count = count + 1
      if count == 1 then first = entry end
    end
  end
  return count, first
end
local function describe(key)
  local kind, holders = redis.call('TYPE', key).ok, {}
  if kind == 'string' then holders[1] = redis.call('GETRANGE', key, 0, 127) end
  if kind == 'zset' then holders = redis.call('ZRANGE', key, 0, 19, 'WITHSCORES') end
  if not holders[1] then return nil end
  local lock = ARGV[4] == '' and key or
    ARGV[4] .. string.match(key, '^quorumlock:permit:%d+:(.*)$')
  local counter = redis.call('MGET', 'quorumlock:fence:' .. lock)[1]
  if not is_labelled(holders[1]) and not counter and
    redis.call('EXISTS', 'quorumlock:queue:' .. lock) == 0 then return nil end
  -- pcall is used because this user may not be allowed to read the record. A record may outlive its leader.
  local leader = ARGV[4] == '' and redis.pcall('HMGET', 'quorumlock:leader:' .. key, 'token')[1]
  local leads = leader == holders[1] and 1 or 0
  local waiters, first = waiters_of(lock)
  return {key, kind, redis.call('PTTL', key), counter or '', waiters, holders, leads, first}
end
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = {page[1], time}
for _, key in ipairs(page[2]) do
  local is_own = string.sub(key, 1, 11) == 'quorumlock:'
  if is_own == (ARGV[4] ~= '') then
    local can_read, lock = pcall(describe, key)
    if can_read and lock then found[#found + 1] = lock end
  end
end
return found
