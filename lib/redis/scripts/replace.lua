-- KEYS enrolment or candidate, candidate. ARGV what the first holds, new candidate, its life ms. The candidate takes
-- the place of both in one step: how long it has to wait is on the node before the old one is gone.
-- 1: done; 0: it was another.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
