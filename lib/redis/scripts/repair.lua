-- KEYS counters. ARGV their values on another node, and their life ms. A counter only ever grows.
local life = ARGV[#KEYS + 1]
for i = 1, #KEYS do
  if (tonumber(redis.call('GET', KEYS[i])) or 0) < tonumber(ARGV[i]) then
    redis.call('SET', KEYS[i], ARGV[i], 'PX', life)
  end
end
return #KEYS
