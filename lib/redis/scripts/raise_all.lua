-- Raises the counters of several locks to one fence, if every lock is this token's and every counter is
-- smaller. Otherwise nothing is raised.
--
--   KEYS     locks, their counters in the same order, enrolment
--   ARGV     token, fence, counters' life ms, enrolment, floor
--   returns  as raise.lua; the counter in the reply is the greatest one
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local n = (#KEYS - 1) / 2
local found = redis.call('MGET', unpack(KEYS))
if found[#KEYS] ~= ARGV[4] then return {-1, 0, time} end
local greatest, ours = 0, true
for i = 1, n do
  local written = found[n + i]
  --> counter
  greatest = math.max(greatest, counter or 0)
  if found[i] ~= ARGV[1] then
    -- A reader has the lock together with others (acquire_shared.lua).
    local ends = not found[i] and redis.pcall('ZSCORE', KEYS[i], ARGV[1])
    ours = ours and type(ends) == 'string' and tonumber(ends) >= math.floor(time / 1000)
  end
end
if not ours then return {3, greatest, time} end
local fence = tonumber(ARGV[2])
--> cap
if greatest >= fence then return {0, greatest, time} end
for i = 1, n do redis.call('SET', KEYS[n + i], ARGV[2], 'PX', ARGV[3]) end
return {1, fence, time}
