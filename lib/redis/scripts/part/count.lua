-- Counts a grant: raises the fencing counter. An absent counter has not been written for its whole life, by this
-- node's own clock.
local fence = math.max((tonumber(found[2]) or time - ARGV[5] * 500) + 1, ARGV[3] + 1,
  ARGV[#ARGV] + 1, math.min(tonumber(ARGV[4]), time + 60000000))
--> cap
-- The counter is written first, because a script that fails half-way is not undone.
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[5])
counter = fence
