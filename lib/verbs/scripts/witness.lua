-- Adds the TIMEs of other nodes to a candidate, which were read after that candidate was seen.
--
--   KEYS     candidate
--   ARGV     candidate, the same with those TIMEs, its life ms
--   returns  1  added
--            0  that candidate is gone, or others have been added
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
