-- Puts a waiter into a line, or keeps it there: its ticket and the end of its life only grow. Returns whether
-- anything has changed in the order, and the end of its life. The line is kept for two to three lives of an entry,
-- which is never longer than a day.
local function enter(lock, waiter, ticket, life)
  local line, lives = line_of(lock), lives_of(lock)
  life = math.min(life, 86400000)
  local changed = redis.call('ZADD', line, 'GT', 'CH', ticket, waiter)
  redis.call('ZADD', lives, 'GT', 'CH', string.format('%.0f', ms + life), waiter)
  if redis.call('PTTL', line) < 2 * life then redis.call('PEXPIRE', line, 3 * life) end
  if redis.call('PTTL', lives) < 2 * life then redis.call('PEXPIRE', lives, 3 * life) end
  return changed == 1, ms + life
end
