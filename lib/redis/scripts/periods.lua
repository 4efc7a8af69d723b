-- Reads the last periods that are done of names (once.lua), to note them on another node.
--
--   KEYS     these numbers
--   returns  for each the number (nothing: it is gone, or is another kind of value) and the ms that it is kept
local said = redis.call('MGET', unpack(KEYS))
for i = #KEYS, 1, -1 do said[2 * i - 1], said[2 * i] = said[i], redis.call('PTTL', KEYS[i]) end
return said
