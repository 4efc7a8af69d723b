-- Deletes what a leader has announced (announce.lua), and informs the observers.
--
--   KEYS     lock, record of the leader
--   ARGV     token
--   returns  1  deleted
--            0  there was no record of this token
if redis.call('HGET', KEYS[2], 'token') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
redis.pcall('PUBLISH', 'quorumlock:led:' .. KEYS[1], '')
return 1
