-- Entries at the front whose lives are over are taken out.
while first do
  local ends = redis.call('ZSCORE', lives, first)
  if ends and tonumber(ends) >= ms then break end
  redis.call('ZREM', line, first)
  redis.call('ZREM', lives, first)
  first = redis.call('ZRANGE', line, 0, 0)[1]
end
