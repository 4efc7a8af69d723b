-- KEYS enrolment, candidate, repairer, members. ARGV the new enrolment, the candidate, the new members. 1: the
-- node is enrolled; 0: that candidate is not there any more: the node has forgotten it, or another client was
-- first.
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[4], ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('DEL', KEYS[3])
return 1
