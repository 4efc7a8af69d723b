-- KEYS enrolment, candidate, members. ARGV the expected enrolment (empty if there is none), the new enrolment and
-- its members. 1: it was changed, and no client waits for the candidate any more; 0: it was another.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[3], ARGV[3])
redis.call('DEL', KEYS[2])
return 1
