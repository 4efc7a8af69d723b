-- KEYS enrolment, candidate. ARGV expected, new (empty for absent, both). 1: changed, and nobody waits
-- for the candidate any more; 0: it was another.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
redis.call('DEL', KEYS[2])
return 1
