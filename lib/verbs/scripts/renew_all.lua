-- Renews locks that are held as one, to write or to read, or a permit: all of them, or none. No expiry is
-- shortened. A lock that a writer had becomes its first reader's if it is renewed to read: it has been
-- downgraded.
--
--   KEYS     locks, their counters in the same order; for a permit the semaphore and its counter
--   ARGV     token, ttl ms, fence (0: none), re-plant locks that are gone (1 or 0), "w" to write, "r" to
--            read, "t" to write by the token alone, slot (0: a lock), capacity, this node's time us from which on
--            this is too late (0: unknown), enrolment, floor, counters' life ms
--   returns  {1, greatest counter, time}    all are this token's, for at least ttl from now
--            {2, greatest counter, time}    the same, and some of them were re-planted
--            {0, greatest counter, time}    one is another's, or the node has forgotten the semaphore and gives
--                                           permits of another number of slots by now
--            {3, greatest counter, time}    one is gone, or released by its token
--            {4, 0, time}                   too late, or a lock is gone and this may be too late
--            {-1, 0, time}                  not enrolled
-- Only 1 and 2 have prolonged anything. For "t" a lock that was re-planted after another's hold counts as gone.
--> now
local n = #KEYS / 2
local token, ttl, mode, slot, over = ARGV[1], tonumber(ARGV[2]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[8])
local reads = mode == 'r'
--> read_mark
--> holder
--> join
--> line
--> front
local permit_of, free_slot, capacity_of, is_another
if slot > 0 then
  --> permits
end
--> wake
--> blame
local function renew()
  local found = redis.call('MGET', 'quorumlock:enrolment', unpack(KEYS, n + 1))
  if found[1] ~= ARGV[9] then return {-1, 0, time} end
  if over > 0 and time >= over then return {4, 0, time} end
  local locks = KEYS
  if slot > 0 then locks = {permit_of(KEYS[1], slot)} end
  local greatest, gone, another, holders, ends = 0, 0, false, {}, {}
  for i = 1, n do
    local written = found[i + 1]
    --> counter
    greatest = math.max(greatest, counter or 0)
    local holder = holder_of(locks[i], token)
    holders[i] = holder
    if reads and holder == read_mark then
      ends[i] = tonumber(redis.call('ZSCORE', readers_of(locks[i]), token) or nil)
      if not ends[i] then gone = gone + 1 end
    elseif holder == nil then
      gone = gone + 1
    elseif holder == read_mark or holder ~= token then
      another = true
    elseif mode == 't' and redis.call('GET', 'quorumlock:replanted:' .. KEYS[i]) == token then
      gone = gone + 1
    end
  end
  if another then return {0, greatest, time} end
  if gone > 0 then
    if ARGV[4] ~= '1' then return {3, greatest, time} end
    for i = 1, n do
      -- A permit is neither released nor extended by its token: it has no such note, and leaves no mark.
      if slot == 0 and redis.call('EXISTS', 'quorumlock:released:' .. KEYS[i] .. ':' .. token) == 1 then
        return {3, greatest, time}
      end
    end
    if over == 0 then return {4, 0, time} end
    if slot > 0 then
      local recorded, odd = capacity_of(KEYS[1])
      if odd then return odd end
      if is_another(KEYS[1], recorded, tonumber(ARGV[7])) then return {0, greatest, time} end
    end
    for i = 1, n do
      local counted, fence = tonumber(found[i + 1]) or 0, tonumber(ARGV[3])
      if slot == 0 and not reads and holders[i] == nil and math.max(counted, ARGV[10]) > fence then
        -- For the mark see renew.lua.
        redis.call('SET', 'quorumlock:replanted:' .. KEYS[i], token, 'PX', ARGV[11], 'GET')
      end
      if counted < fence then redis.call('SET', KEYS[n + i], ARGV[3], 'PX', ARGV[11], 'GET') end
    end
    greatest = math.max(greatest, ARGV[3])
  end
  if slot > 0 then redis.call('SET', KEYS[1], ARGV[7], 'PX', ARGV[11], 'GET') end
  local told = {}
  for i = 1, n do
    local left = redis.call('PTTL', locks[i])
    if reads then
      local was_written = holders[i] == token
      if was_written then ends[i] = ms + left end
      join(locks[i], holders[i], token, math.max(ends[i] or 0, ms + ttl), ttl)
      -- The readers after this one in the line may come in now.
      if was_written then wake_front(KEYS[i], read_mark, nil, told) end
    elseif holders[i] == nil then
      redis.call('SET', locks[i], token, 'NX', 'PX', ARGV[2])
    elseif left < ttl then
      redis.call('PEXPIRE', locks[i], ARGV[2])
    end
  end
  return {gone > 0 and 2 or 1, greatest, time}
end
local done, said = pcall(renew)
return done and said or blame(said, {unpack(KEYS, 1, n)}, {unpack(KEYS, n + 1)})
