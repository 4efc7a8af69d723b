local function is_spent(lock, holder, entry)
  local token = redis.call('HGET', grants_of(lock), entry)
  if not token or token == holder then return false end
  -- A writer that has become a reader waits no more.
  return holder ~= read_mark or string.sub(entry, 1, 1) == 'w' or
    not redis.call('ZSCORE', readers_of(lock), token)
end
-- Removes entries whose lives are over, anywhere in the line: not all at once, since there may be many.
local function prune(lock)
  local over = redis.call('ZRANGEBYSCORE', lives_of(lock), '-inf', string.format('(%.0f', ms), 'LIMIT', '0', '64')
  if over[1] then leave(lock, unpack(over)) end
end
-- Returns the first entries of a line that count, and the ends of their lives: at most two, and none from `stop`
-- on. For a reader only writers count. Those of `asking`, which has such an end for each, are not spent: they go on
-- waiting. Where `stop` was found, the entry behind it comes third, or an empty text.
local function front(lock, holder, reads, most, asking, stop)
  local line, lives = line_of(lock), lives_of(lock)
  local first, ends, at = {}, {}, 0
  while true do
    local size = reads and 100 or 2
    -- Numbers cost a server more than text does.
    local page = at == 0 and redis.call('ZRANGE', line, '0', reads and '99' or '1') or
      redis.call('ZRANGE', line, at, at + size - 1)
    for i, entry in ipairs(page) do
      if entry == stop then
        return first, ends, page[i + 1] or i == size and redis.call('ZRANGE', line, at + 1, at + 1)[1] or ''
      end
      local life = (not reads or string.sub(entry, 1, 1) == 'w') and
        (asking[entry] or tonumber(redis.call('ZSCORE', lives, entry) or 0))
      if not life then
        at = at + 1
      elseif life < ms or (not asking[entry] and is_spent(lock, holder, entry)) then
        leave(lock, entry)
      else
        at = at + 1
        first[#first + 1], ends[#ends + 1] = entry, life
        if #first == most then return first, ends end
      end
    end
    if #page < size then return first, ends end
  end
end
