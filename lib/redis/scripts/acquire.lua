-- Acquires locks to write, one after the other, for callers that are not in the line: callers that do not wait,
-- and the first attempt of callers that would enter the line if refused.
--
--   ARGV     ttl ms, client's wall clock us, counters' life ms (0: no fencing), then for each lock its key, its
--            token and the greatest fence seen, then enrolment, floor
--   returns  {time, fence}  all were granted, with this fence (0: no fencing)
--            {time, then four values for each lock}, and in the end a list of the holders, one for each lock
--              1, fence, 0, 0  granted
--              0, counter, ms until this may change by itself, greatest ticket
--                              another has the lock, or waits for it. The holder is that of acquire_all.lua.
--              an error, 0, 0, 0
--            {time}         not enrolled; nothing was touched
-- The locks are not among KEYS: the server would refuse the whole call for one key that this user may not touch.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local last = #ARGV - 2
local wall, life, floor = tonumber(ARGV[2]), ARGV[3], ARGV[last + 2]
local keys, counters = {}, {'quorumlock:enrolment'}
for i = 4, last, 3 do
  keys[#keys + 1] = ARGV[i]
  keys[#keys + 1] = 'quorumlock:queue:' .. ARGV[i]
  if life ~= '0' then counters[#counters + 1] = 'quorumlock:fence:' .. ARGV[i] end
end
-- These fail if this user may not touch one of the keys.
local found = redis.pcall('MGET', unpack(counters))
if (found.err and redis.call('GET', counters[1]) or found[1]) ~= ARGV[last + 1] then return {time} end
local exist = redis.pcall('EXISTS', unpack(keys))
-- Usually all locks are free, nobody waits for them, and their counters are behind the client's clock, which
-- then is the fence of all.
local is_usual = exist == 0 and not found.err and (life == '0' or
  (wall > tonumber(floor) and wall <= time + 60000000 and wall > time - life * 500))

-- Handles every other case. It uses few variables from outside, since Lua would create each of them anew in every
-- call of the script.
local function carefully(lock, token, seen)
  local ms = math.floor(time / 1000)
  local counter_key = 'quorumlock:fence:' .. lock
  --> holder
  --> describe
  --> line
  --> blame
  local function acquire()
    local written = redis.call('MGET', counter_key)[1]
    --> counter
    local holder = holder_of(lock, token)
    prune(lock)
    local before, ends = front(lock, holder, false, 1, {})
    if holder == nil and not before[1] then
      if life ~= '0' then
        local fence = math.max(math.max(counter or time - life * 500, seen, floor) + 1,
          math.min(wall, time + 60000000))
        --> cap
        -- The counter is written first, because a script that fails half-way is not undone. GET makes SET refuse
        -- another kind of value.
        redis.call('SET', counter_key, string.format('%.0f', fence), 'PX', life, 'GET')
        counter = fence
      end
      redis.call('SET', lock, token, 'NX', 'PX', ARGV[1])
      return {1, counter or 0, 0, 0, ''}
    end
    local due = holder == nil and math.floor(ends[1] - ms) + 1 or redis.call('PTTL', lock)
    local greatest = tonumber(redis.call('ZRANGE', line_of(lock), -1, -1, 'WITHSCORES')[2]) or 0
    return {0, counter or 0, due, greatest, holder ~= nil and describe(lock, holder) or ''}
  end
  local done, said = pcall(acquire)
  return done and said or blame(said, {lock}, {counter_key})
end

local is_asked, said, number = {}, nil, 1
for i = 4, last, 3 do
  number = number + 1
  local lock, done = ARGV[i], nil
  if is_usual and not is_asked[lock] then
    is_asked[lock] = true
    local written, is_behind = found[number], true
    if life ~= '0' then
      local counter = tonumber(written or 0)
      is_behind = counter and counter >= 0 and counter < wall and counter % 1 == 0 and
        tonumber(ARGV[i + 2]) < wall
      if not is_behind then
        done = nil
      elseif written then
        done = redis.pcall('SET', counters[number], ARGV[2], 'PX', life)
      else
        done = redis.pcall('SET', counters[number], ARGV[2], 'NX', 'PX', life)
      end
      is_behind = done and done.ok
    end
    done = is_behind and redis.pcall('SET', lock, ARGV[i + 1], 'NX', 'PX', ARGV[1])
  end
  if not (done and done.ok) then
    said = said or {}
    said[number] = carefully(lock, ARGV[i + 1], ARGV[i + 2])
  end
end
local fence = life ~= '0' and wall or 0
if not said then return {time, fence} end
local reply, holders = {time}, {}
for i = 2, number do
  local what, at = said[i] or {1, fence, 0, 0, ''}, #reply
  if what.err then
    -- A replica refuses everything.
    if string.find(what.err, 'READONLY', 1, true) then return what end
    what = {what, 0, 0, 0, ''}
  end
  for j = 1, 4 do reply[at + j] = what[j] end
  holders[i - 1] = what[5]
end
reply[#reply + 1] = holders
return reply
