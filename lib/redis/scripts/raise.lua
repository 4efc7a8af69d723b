-- Raises a lock's fencing counter to exactly this fence. The counter must be smaller, and the caller must own
-- the lock: otherwise two holders could have the same fencing token, or a later one the smaller.
--
--   KEYS     lock, counter, enrolment
--   ARGV     token, fence, counter's life ms, enrolment, floor
--   returns  {1, fence, time}    raised
--            {0, counter, time}  the counter is as high already
--            {3, counter, time}  the lock is not this token's
--            {-1, 0, time}       not enrolled
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', KEYS[3], KEYS[2], KEYS[1])
if found[1] ~= ARGV[4] then return {-1, 0, time} end
local written = found[2]
--> counter
counter = counter or 0
if found[3] ~= ARGV[1] then
  -- A reader has the lock together with others (acquire_shared.lua).
  local ends = not found[3] and redis.pcall('ZSCORE', KEYS[1], ARGV[1])
  if type(ends) ~= 'string' or tonumber(ends) < math.floor(time / 1000) then
    return {3, counter, time}
  end
end
local fence = tonumber(ARGV[2])
--> cap
if counter >= fence then return {0, counter, time} end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return {1, fence, time}
