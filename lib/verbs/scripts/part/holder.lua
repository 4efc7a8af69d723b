-- Returns the text under a lock, which is its holder's token or read_mark, cut if it is longer than a token of
-- ours and than this token. Returns nil if the lock is free, as it is when the lives of all its readers are over,
-- and false if it holds a value of another kind than a text.
local function holder_of(lock, token)
  local last = #token < 128 and '127' or #token
  local holder = redis.pcall('GETRANGE', lock, '0', last)
  if holder == '' and redis.call('EXISTS', lock) == 0 then return nil end
  if type(holder) == 'table' then
    if redis.call('TYPE', lock).ok ~= 'string' then return false end
    holder = redis.call('GETRANGE', lock, '0', last)
  end
  if holder ~= read_mark then return holder end
  --> now
  local readers = readers_of(lock)
  local over = redis.call('ZREMRANGEBYSCORE', readers, '-inf', string.format('(%.0f', ms))
  if over == 0 or redis.call('EXISTS', readers) == 1 then return holder end
  redis.call('DEL', lock)
  return nil
end
