-- Puts a waiter into a line, or keeps it there: its ticket and the end of its life only grow. Returns whether
-- anything has changed in the order. The line is kept for at least twice the life of an entry, which is never
-- longer than a day.
local function enter(lock, waiter, ticket, life)
  local function raise(set, score)
    local now = redis.call('ZSCORE', set, waiter)
    local grows = not now or tonumber(now) < tonumber(score)
    if grows then redis.call('ZADD', set, score, waiter) end
    return grows
  end
  life = math.min(life, 86400000)
  local changed = raise(line_of(lock), ticket)
  raise(lives_of(lock), string.format('%.0f', ms + life))
  for _, key in ipairs({line_of(lock), lives_of(lock)}) do
    if redis.call('PTTL', key) < 2 * life then redis.call('PEXPIRE', key, 2 * life) end
  end
  return changed
end
