-- Puts a new candidate in the place of an enrolment or of another candidate, in one step: the wait that the new
-- one stands for is on the node before the old one is gone.
--
--   KEYS     enrolment or candidate, candidate
--   ARGV     what the first key holds, new candidate, its life ms
--   returns  1  replaced
--            0  the first key holds something else
--> now
--> begun
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], beginning_now(ARGV[2]), 'PX', ARGV[3])
return 1
