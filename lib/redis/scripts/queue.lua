-- KEYS locks. ARGV an entry's life in ms, then for each lock a waiter and its ticket. Each gets
-- its entry in the line of its lock (see acquire_ordered.lua), or keeps it, for that long from
-- now; a ticket may grow. For each: who is before it (0: nobody; 1: one of the same process; 2:
-- one of another; 3: more than one), whether the lock is free (1 or 0), ms until one of these may
-- change by itself, and the greatest ticket of all the others.
local now = redis.call('TIME')
local ms = math.floor(now[1] * 1000 + now[2] / 1000)
local reply = {}
for i = 1, #KEYS do
  local waiter = ARGV[2 * i]
  local line, lives = 'quorumlock:queue:' .. KEYS[i], 'quorumlock:waiting:' .. KEYS[i]
  local last = redis.call('ZRANGE', line, -2, -1, 'WITHSCORES')
  local greatest = last[#last]
  if last[#last - 1] == waiter then greatest = last[#last - 2] end
  local changed = redis.call('ZADD', line, 'GT', 'CH', ARGV[2 * i + 1], waiter)
  redis.call('ZADD', lives, 'GT', string.format('%.0f', ms + ARGV[1]), waiter)
  for _, key in ipairs({line, lives}) do
    if redis.call('PTTL', key) < 2 * ARGV[1] then redis.call('PEXPIRE', key, 2 * ARGV[1]) end
  end
  local first, ends
  while true do
    first = redis.call('ZRANGE', line, 0, 1)
    ends = redis.call('ZSCORE', lives, first[1])
    if ends and tonumber(ends) >= ms then break end
    redis.call('ZREM', line, first[1])
    redis.call('ZREM', lives, first[1])
  end
  local before = 3
  if first[1] == waiter then
    before = 0
  elseif first[2] == waiter then
    before = string.sub(first[1], 1, 18) == string.sub(waiter, 1, 18) and 1 or 2
  end
  local due = redis.call('PTTL', KEYS[i])
  local free = due == -2
  if free then due = ends - ms + 1 end
  -- It may have been first itself until now, and have got the message that was the other's.
  if free and before ~= 0 and changed == 1 then
    redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(first[1], 2, 17),
      string.sub(first[1], 19))
  end
  reply[4 * i - 3] = before
  reply[4 * i - 2] = free and 1 or 0
  reply[4 * i - 1] = due
  reply[4 * i] = tonumber(greatest) or 0
end
return reply
