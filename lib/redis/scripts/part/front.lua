-- Returns the first two waiters of the line, and the end of the first one's life. Entries whose lives are over
-- are removed on the way.
local function front()
  while true do
    local found = redis.call('ZRANGE', line, 0, 1)
    if not found[1] then return found end
    local ends = redis.call('ZSCORE', lives, found[1])
    if ends and ends * 1000 >= time then return found, ends end
    redis.call('ZREM', line, found[1])
    redis.call('ZREM', lives, found[1])
  end
end
