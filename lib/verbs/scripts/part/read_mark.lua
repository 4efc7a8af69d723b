-- While a lock is read, its own key has this text, so that every client finds it held and nobody has the token to
-- delete it. Its readers are a sorted set of their tokens by the ms at which each one's life ends. Both keys
-- expire when the last life may end. The set is stale if the lock's key has anything else.
local read_mark = 'quorumlock:readers'
local function readers_of(lock) return 'quorumlock:readers:' .. lock end
