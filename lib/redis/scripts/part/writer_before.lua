-- Returns the ms until which the entry of the first writer before the waiter lives; nil if there is none.
local function writer_before(line, lives, lock, now_ms)
  local at = 0
  while true do
    local entries = redis.call('ZRANGE', line, at, at + 99)
    for _, entry in ipairs(entries) do
      if entry == waiter then return nil end
      if string.sub(entry, 1, 1) == 'w' then
        local ends = tonumber(redis.call('ZSCORE', lives, entry) or 0)
        -- A marked entry is spent if no writer has the lock any more.
        local spent = ends % 1 ~= 0 and redis.call('TYPE', lock).ok ~= 'string'
        if ends >= now_ms and not spent then return ends end
      end
    end
    if #entries < 100 then return nil end
    at = at + 100
  end
end
