-- Raises a node's fencing counters, or the numbers of the last periods that are done, to those of another node. A
-- number only grows, and so does its life; a value that is not a number counts as absent.
--
--   KEYS     the repairer's mark, then counters
--   ARGV     the mark, its life ms, the counters' life ms, then the counters' values on the other node
--   returns  the number of counters; the life of the mark is prolonged
--            -1  another client is repairing this node; nothing was touched
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return -1 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if #KEYS == 1 then return 0 end
local found = redis.call('MGET', unpack(KEYS, 2))
for i = 1, #found do
  local value = ARGV[i + 3]
  -- Lua reads "nan" as a number that is not smaller than any other. Zero is a number, too: the first period is done.
  if found[i] ~= value and not ((tonumber(found[i]) or -1) >= tonumber(value)) then
    -- GET makes SET refuse another kind of value, which is another program's.
    local said = redis.pcall('SET', KEYS[i + 1], value, 'PX', ARGV[3], 'GET')
    if type(said) == 'table' and not string.find(said.err, 'WRONGTYPE', 1, true) then return said end
  elseif found[i] then
    redis.call('PEXPIRE', KEYS[i + 1], ARGV[3], 'GT')
  end
end
return #found
