-- Acquires locks to write, one after the other, for callers that are not in the line: callers that do not wait,
-- and the first attempt of callers that would enter the line if refused.
--
--   ARGV     ttl ms, client's wall clock us, fencing (1 or 0), the greatest fence seen of all these locks, then for
--            each lock its key, its token and the greatest fence seen of it, then enrolment, floor, counters' life
--            ms, for how many ms an absent counter has not been written at the least
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
local words, last = ARGV, #ARGV - 4
local wall, floor, begins = tonumber(words[2]), words[last + 2], time - words[last + 4] * 500
local life = words[3] == '0' and '0' or words[last + 3]
local lines, counters, at = {}, {'quorumlock:enrolment'}, 1
for i = 5, last, 3 do
  local lock = words[i]
  lines[at] = 'quorumlock:queue:' .. lock
  at = at + 1
  if life ~= '0' then counters[at] = 'quorumlock:fence:' .. lock end
end
-- These fail if this user may not touch one of the keys.
local found = redis.pcall('MGET', unpack(counters))
if (found.err and redis.call('GET', counters[1]) or found[1]) ~= ARGV[last + 1] then return {time} end
-- Usually nobody waits for the locks, and their counters are behind the client's clock, which then is the fence of
-- all.
local is_usual = redis.pcall('EXISTS', unpack(lines)) == 0 and not found.err and (life == '0' or
  (wall > tonumber(floor) and wall > tonumber(words[4]) and wall <= time + 60000000 and wall > begins))

-- Handles every other case. It uses few variables from outside, since Lua would create each of them anew in every
-- call of the script.
local function carefully(lock, token, seen)
  local ms = math.floor(time / 1000)
  local counter_key = 'quorumlock:fence:' .. lock
  --> read_mark
  --> holder
  --> describe
  --> line
  --> front
  --> blame
  local function acquire()
    local written = redis.call('MGET', counter_key)[1]
    --> counter
    local holder = holder_of(lock, token)
    prune(lock)
    local before, ends = front(lock, holder, false, 1, {})
    if holder == nil and not before[1] then
      if life ~= '0' then
        -- A renewal or a repair may have set the counter to less than an absent one begins with.
        local fence = math.max(math.max(counter or 0, begins, seen, floor) + 1,
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
    local greatest = tonumber(redis.call('ZRANGE', line_of(lock), '-1', '-1', 'WITHSCORES')[2]) or 0
    return {0, counter or 0, due, greatest, holder ~= nil and describe(lock, holder) or ''}
  end
  local done, said = pcall(acquire)
  return done and said or blame(said, {lock}, {counter_key})
end

-- GET makes SET refuse another kind of value, and answers with the value before, or false if there was none. A name
-- that comes twice is not free the second time. The lock comes first, since a lock that is not free leaves the
-- counter as it is; it is given back if the counter cannot be written.
local said, number, call, ttl, fence_text = nil, 1, redis.pcall, words[1], words[2]
for i = 5, last, 3 do
  number = number + 1
  local lock, token, done = words[i], words[i + 1], false
  if is_usual then
    local written = found[number]
    local counter = tonumber(written or 0)
    if life == '0' then
      done = call('SET', lock, token, 'NX', 'PX', ttl, 'GET') == false
    elseif counter and counter >= 0 and counter < wall and counter % 1 == 0 and
      call('SET', lock, token, 'NX', 'PX', ttl, 'GET') == false then
      done = call('SET', counters[number], fence_text, 'PX', life, 'GET') == written
      if not done then call('DEL', lock) end
    end
  end
  if not done then
    said = said or {}
    said[number] = carefully(lock, token, words[i + 2])
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
