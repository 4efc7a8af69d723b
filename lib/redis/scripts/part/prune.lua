-- Removes entries at the front of the line whose lives are over.
while first do
  local ends = redis.call('ZSCORE', lives, first)
  if ends and tonumber(ends) >= ms then break end
  redis.call('ZREM', line, first)
  redis.call('ZREM', lives, first)
  first = redis.call('ZRANGE', line, 0, 0)[1]
end
