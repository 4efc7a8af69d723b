-- Returns the holder of a lock and what it has announced about itself (announce.lua).
--
--   KEYS     lock, counter, record of the leader
--   returns  {token, pttl, version, fencing token, value}; if the holder has announced nothing, version 0 and
--                the counter
--            {}  nobody leads: nobody holds the lock, readers do, or another program's value is there
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('STRLEN', KEYS[1]) > 128 then return {} end
--> read_mark
--> describe
local found = redis.call('MGET', KEYS[1], KEYS[2])
if describe(KEYS[1], found[1]) ~= found[1] then return {} end
local due = redis.call('PTTL', KEYS[1])
local said = redis.call('HMGET', KEYS[3], 'token', 'version', 'fence', 'value')
-- What is longer than ours was written by another program.
local function fits(text, most) return text and #text <= most end
if said[1] == found[1] and fits(said[2], 20) and fits(said[3], 20) and fits(said[4], 65536) then
  return {found[1], due, said[2], said[3], said[4]}
end
return {found[1], due, '0', found[2] and #found[2] <= 16 and found[2] or '0', ''}
