--> read_mark
-- Returns who has a lock: nil if nobody, read_mark if readers, false if it holds another kind of value than a
-- text, and else its text, cut if it is longer than a token of ours and than this token. A lock is free if the
-- lives of all its readers are over.
local function holder_of(lock, token)
  local kind = redis.call('TYPE', lock).ok
  if kind == 'none' then return nil end
  if kind ~= 'string' then return false end
  local holder = redis.call('GETRANGE', lock, 0, math.max(127, #token))
  if holder ~= read_mark then return holder end
  local readers = readers_of(lock)
  local over = redis.call('ZREMRANGEBYSCORE', readers, '-inf', string.format('(%.0f', ms))
  if over == 0 or redis.call('EXISTS', readers) == 1 then return holder end
  redis.call('DEL', lock)
  return nil
end
