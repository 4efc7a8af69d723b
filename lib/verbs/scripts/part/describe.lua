-- Returns the words for the holder of a lock in a reply: a token of ours, nothing for readers, and of another
-- program's value only its kind and, if it is a text, its length.
local function describe(lock, holder)
  if holder == read_mark then return '' end
  if not holder then return redis.call('TYPE', lock).ok end
  local digits = string.match(holder, '^[0-9a-f]*')
  local is_ours = #digits == 40 and #holder <= 105 and (#holder == 40 or string.sub(holder, 41, 41) == '@')
  return is_ours and holder or 'string ' .. redis.call('STRLEN', lock)
end
