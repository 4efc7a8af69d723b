-- Reads the last periods that are done of names (once.lua), to note them on another node.
--
--   KEYS     these numbers
--   returns  for each the number (nothing: it is gone, or is another kind of value) and the ms that it is kept
-- Of another program's text only the beginning is sent: no number has 17 digits.
local said = {}
for i, key in ipairs(KEYS) do
  local is_text = redis.call('TYPE', key).ok == 'string'
  said[2 * i - 1] = is_text and redis.call('GETRANGE', key, 0, 16)
  said[2 * i] = redis.call('PTTL', key)
end
return said
