-- Sends a message to a waiter. pcall is used because this user may not be allowed to publish, and
-- what was done before must stand.
local function wake(entry, slot)
  redis.pcall('PUBLISH', 'quorumlock:wake:' .. string.sub(entry, 2, 17),
    string.match(entry, '%d*', 19) .. (slot and '.' .. slot or ''))
end
