-- KEYS the repairer's mark, then counters. ARGV the mark, its life ms, the counters' life ms, then the
-- counters' values on another node. A counter only ever grows, and one that is no number counts as absent.
-- The number of counters, and the mark lives on; -1 if another client repairs by now: nothing touched.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return -1 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if #KEYS == 1 then return 0 end
local found = redis.call('MGET', unpack(KEYS, 2))
for i = 1, #found do
  local value = ARGV[i + 3]
  -- NaN, which Lua reads as a number, is not below anything.
  if found[i] ~= value and not ((tonumber(found[i]) or 0) >= tonumber(value)) then
    redis.call('SET', KEYS[i + 1], value, 'PX', ARGV[3])
  end
end
return #found
