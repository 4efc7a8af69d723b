-- Raises the counters of locks to exactly this fence. The floor and every counter must be smaller, and the caller
-- must own every lock: otherwise two holders could have the same fencing token, or a later one the smaller.
--
--   KEYS     locks, their counters in the same order; for a permit its slot and the semaphore's counter
--   ARGV     token, fence, enrolment, floor, counters' life ms
--   returns  {1, fence, time}            raised
--            {0, greatest counter, time}  a counter, or the floor, is as high already; none is raised
--            {3, greatest counter, time}  a lock is not this token's
--            {-1, 0, time}               not enrolled
--> now
local n = #KEYS / 2
--> read_mark
--> holder
local found = redis.call('MGET', 'quorumlock:enrolment', unpack(KEYS, n + 1))
if found[1] ~= ARGV[3] then return {-1, 0, time} end
-- A list may have been settled since the grant, with a floor.
local greatest, ours = tonumber(ARGV[4]), true
for i = 1, n do
  local written = found[i + 1]
  --> counter
  greatest = math.max(greatest, counter or 0)
  local holder = holder_of(KEYS[i], ARGV[1])
  if holder == read_mark then
    holder = redis.call('ZSCORE', readers_of(KEYS[i]), ARGV[1]) and ARGV[1]
  end
  ours = ours and holder == ARGV[1]
end
if not ours then return {3, greatest, time} end
local fence = tonumber(ARGV[2])
--> cap
if greatest >= fence then return {0, greatest, time} end
for i = 1, n do redis.call('SET', KEYS[n + i], ARGV[2], 'PX', ARGV[5], 'GET') end
return {1, fence, time}
