-- KEYS lock. ARGV how many readers, and as many waiters, to tell of at most. Changes nothing.
-- {time, kind of value, value, pttl, {reader, the end of its life in ms, ...}, {waiter, ticket, the
-- end of its entry's life in ms, ...}}: see acquire_ordered.lua for the line. What has outlived its
-- life, and only nobody has taken away, is left out.
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local kind, value, readers, line = redis.call('TYPE', KEYS[1]).ok, '', {}, {}
if kind == 'string' then value = redis.call('GETRANGE', KEYS[1], 0, 1023) end
if kind == 'zset' then
  local found = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if found[i + 1] * 1000 >= time then
      readers[#readers + 1] = found[i]
      readers[#readers + 1] = found[i + 1]
    end
  end
end
local found = redis.call('ZRANGE', 'quorumlock:queue:' .. KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local ends = redis.call('ZSCORE', 'quorumlock:waiting:' .. KEYS[1], found[i])
  if ends and ends * 1000 >= time then
    line[#line + 1] = found[i]
    line[#line + 1] = found[i + 1]
    line[#line + 1] = ends
  end
end
return {time, kind, value, redis.call('PTTL', KEYS[1]), readers, line}
