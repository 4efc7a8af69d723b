-- If a key of ours has another kind of value, it is another program's: the error names it, and it stays as it is.
local function blame(what, locks, counters)
  if not string.find(what, 'WRONGTYPE', 1, true) then return redis.error_reply(what) end
  for i, lock in ipairs(locks) do
    local keys = {{'quorumlock:queue:' .. lock, 'zset'}, {'quorumlock:waiting:' .. lock, 'zset'},
      {'quorumlock:granted:' .. lock, 'hash'}, {'quorumlock:readers:' .. lock, 'zset'},
      {'quorumlock:replanted:' .. lock, 'string'}, {counters[i] or lock, 'string'}}
    if string.sub(lock, 1, 21) == 'quorumlock:semaphore:' then keys[#keys + 1] = {lock, 'string'} end
    for _, one in ipairs(keys) do
      local found = redis.call('TYPE', one[1]).ok
      if found ~= 'none' and found ~= one[2] then
        return redis.error_reply('ERR quorumlock: ' .. one[1] .. ' is another program\'s ' .. found)
      end
    end
  end
  return redis.error_reply(what)
end
