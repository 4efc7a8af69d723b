-- KEYS locks, their counters in the same order, enrolment. ARGV as of raise.lua: token, fence,
-- counter's life ms, enrolment, floor. Answers as that does: raised are all counters, where all locks
-- are ours and each counter is smaller; {0, ...} and {3, ...} tell the greatest counter.
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
    -- A reader has it together with others (see acquire_shared.lua).
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
